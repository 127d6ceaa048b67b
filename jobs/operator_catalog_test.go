package jobs

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/provisiond/provisiond/provider"
)

// What each change of the catalog does to an instance that lives.
func TestCheckCatalog(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Service = f.withCatalog(t, lifeCatalog)
	small := f.start(t, StartRequest{Plan: "small", Parameters: map[string]any{"size": 7, "token": canary}})
	f.claimed(t, small).run(t.Context())
	gone := f.start(t, StartRequest{Plan: "brief"})
	f.claimed(t, gone).run(t.Context())
	f.claimed(t, f.deleting(t, gone)).run(t.Context())
	live := f.start(t, StartRequest{Plan: "brief"})
	warning := func(e Effect, plan string, ids ...string) CatalogWarning {
		return CatalogWarning{Effect: e, Service: "thing", Plan: plan, IDs: ids}
	}
	for name, tt := range map[string]struct {
		from, to string // of the catalog's text
		want     []CatalogWarning
	}{
		"nothing": {"", "", nil},
		"words":   {"name: Small", "name: Tiny", nil},
		"price": {
			"name: Small", "name: Small\n        price: { amount: '1.00', currency: USD, per: month }",
			[]CatalogWarning{warning(PlanChanged, "small", small.InstanceID)},
		},
		"configuration": {"driver: scripted", "driver: scripted\n    config: { server: other }", []CatalogWarning{
			warning(ConfigurationMoved, "small", small.InstanceID), // the other has not been made yet
		}},
		"settings":         {"cpu: 1", "cpu: 2", []CatalogWarning{warning(PlanChanged, "small", small.InstanceID)}},
		"schema that fits": {"maximum: 9", "maximum: 8", []CatalogWarning{warning(PlanChanged, "small", small.InstanceID)}},
		"schema that does not": {"maximum: 9", "maximum: 5", []CatalogWarning{
			warning(ParametersInvalid, "small", small.InstanceID), warning(PlanChanged, "small", small.InstanceID),
		}},
		"plan": {"id: small", "id: tiny", []CatalogWarning{warning(PlanGone, "small", small.InstanceID)}},
		"service": {"id: thing", "id: other", []CatalogWarning{
			warning(JobsStranded, "brief", live.ID),
			warning(ServiceGone, "brief", live.InstanceID), warning(ServiceGone, "small", small.InstanceID),
		}},
		"driver": {"driver: scripted", "driver: other", []CatalogWarning{
			warning(JobsStranded, "brief", live.ID),
			warning(DriverChanged, "brief", live.InstanceID), warning(DriverChanged, "small", small.InstanceID),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := loadCatalog(t, strings.Replace(lifeCatalog, tt.from, tt.to, 1), f.back)
			got, err := f.operator(t).CheckCatalog(t.Context(), changed, f.cfg.Sealer)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Where an instance was made, and where its last job has found it, is what a catalog is held against.
func TestCheckCatalogSeesWhereInstancesAre(t *testing.T) {
	t.Parallel()
	const elsewhere = "driver: scripted\n    config: { server: other, password: " + canary + " }"
	f := newFixture(t)
	first := f.Service
	text := strings.Replace(testCatalog, "driver: scripted", elsewhere, 1)
	second := f.withCatalog(t, text)
	check := func(sealer *Sealer) []CatalogWarning {
		t.Helper()
		got, err := f.operator(t).CheckCatalog(t.Context(), loadCatalog(t, text, f.back), sealer)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	warns := func(what string, e Effect, ids ...string) {
		t.Helper()
		if diff := cmp.Diff([]CatalogWarning{{Effect: e, Service: "thing", Plan: "plain", IDs: ids}}, check(f.cfg.Sealer)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	begun := func(r Result, err error) Job {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r.Job
	}
	made := f.start(t, StartRequest{Bind: true})
	f.claimed(t, made).run(t.Context())
	half := f.start(t, StartRequest{})
	if err := f.claimed(t, half).settle(t.Context(), nil, outcome{err: &provider.Pending{}}); err != nil {
		t.Fatal(err)
	}
	warns("made, and perhaps made", ConfigurationMoved, made.InstanceID, half.InstanceID)
	if got := check(nil); len(got) > 0 {
		t.Errorf("without a keyset: %v", got)
	}

	f.Service = second
	f.claimed(t, half).run(t.Context()) // begun at one place, made at the other
	warns("made", ConfigurationMoved, made.InstanceID)
	f.back.check = func() []provider.Finding { return []provider.Finding{{Kind: provider.Missing}} }
	f.claimed(t, begun(f.Check(t.Context(), f.caller, CheckRequest{InstanceID: made.InstanceID}))).run(t.Context())
	warns("not found there", ConfigurationMoved, made.InstanceID)
	f.back.check = nil
	f.claimed(t, begun(f.Check(t.Context(), f.caller, CheckRequest{InstanceID: made.InstanceID}))).run(t.Context())
	if got := check(f.cfg.Sealer); len(got) > 0 {
		t.Errorf("found there: %v", got)
	}

	f.exec(t, `UPDATE instance SET config_digest = NULL WHERE id = $1`, made.InstanceID) // as of an earlier release
	warns("not known", ConfigurationUnknown, made.InstanceID)
	f.Service = first
	f.claimed(t, begun(f.Bind(t.Context(), f.caller, BindRequest{InstanceID: made.InstanceID}))).run(t.Context())
	warns("bound", ConfigurationMoved, made.InstanceID)
}

// A keyset that was rotated opens what it has sealed before; another one does not.
func TestCheckCatalogWithOtherKeysets(t *testing.T) {
	t.Parallel()
	keyset, err := CreateKeyset()
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, func(c *Config) { c.Sealer = mustReadKeyset(t, keyset) })
	f.claimed(t, f.start(t, StartRequest{})).run(t.Context())
	rotated, _, err := RotateKeyset(keyset)
	if err != nil {
		t.Fatal(err)
	}
	promoted, _, err := PromoteKeyset(rotated)
	if err != nil {
		t.Fatal(err)
	}
	other, err := CreateKeyset()
	if err != nil {
		t.Fatal(err)
	}
	o, c := f.operator(t), f.Catalog()
	if got, err := o.CheckCatalog(t.Context(), c, mustReadKeyset(t, promoted)); err != nil || len(got) > 0 {
		t.Errorf("rotated: %v, %v", got, err)
	}
	if _, err := o.CheckCatalog(t.Context(), c, mustReadKeyset(t, other)); !errors.Is(err, errNoKey) {
		t.Errorf("another: %v, want %v", err, errNoKey)
	}
}

func mustReadKeyset(t *testing.T, keyset []byte) *Sealer {
	t.Helper()
	sealer, err := ReadKeyset(keyset)
	if err != nil {
		t.Fatal(err)
	}
	return sealer
}
