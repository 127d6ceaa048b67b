package jobs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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
			got, err := f.operator(t).CheckCatalog(t.Context(), changed)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
