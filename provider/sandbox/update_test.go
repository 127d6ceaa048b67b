package sandbox

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/internal/pgtest"
	"github.com/provisiond/provisiond/provider"
)

// updateOf makes an instance and turns its request into one of an update to the settings.
func updateOf(t *testing.T, d provider.Driver, settings string) *provider.Request {
	t.Helper()
	var steps []string
	r := newRequest(`{}`, &steps)
	if _, err := d.Provision(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	r.Previous = &provider.Configuration{Settings: r.Settings}
	r.Settings = json.RawMessage(settings)
	return r
}

// Each failure of an update says what it leaves, and what a Check finds of the old instance then.
func TestUpdateFailures(t *testing.T) {
	t.Parallel()
	d := newDriver(t, pgtest.Pool(t))
	for settings, want := range map[string]struct {
		failure *provider.Error
		again   string
		found   []provider.FindingKind
	}{
		`{"fail_update": {"message": "Full.", "times": 1}}`: {
			failure: &provider.Error{Code: provider.ErrUnavailable, Message: "Full."},
		},
		`{"fail_update": {"message": "Full.", "code": "full", "retryable": true}}`: {
			failure: &provider.Error{Code: "full", Message: "Full.", Retryable: true}, again: "full",
		},
		`{"fail_update": {"message": "Gone.", "times": 1, "unusable": true, "not_repeatable": true}}`: {
			failure: &provider.Error{
				Code: provider.ErrUnavailable, Message: "Gone.", Unusable: true, NotRepeatable: true,
			},
			found: []provider.FindingKind{provider.Changed},
		},
	} {
		t.Run(settings, func(t *testing.T) {
			t.Parallel()
			r := updateOf(t, d, settings)
			_, err := d.Update(t.Context(), r)
			failure, _ := errors.AsType[*provider.Error](err)
			if diff := cmp.Diff(want.failure, failure); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
			old := *r
			old.Settings = r.Previous.Settings
			if diff := cmp.Diff(want.found, findingKinds(t, d, &old)); diff != "" {
				t.Errorf("findings after the failure (-want +got):\n%s", diff)
			}
			_, err = d.Update(t.Context(), r)
			if got := outcome(err); got != want.again {
				t.Errorf("the update made again gives %q, want %q", got, want.again)
			}
		})
	}
}

func findingKinds(t *testing.T, d provider.Driver, r *provider.Request) []provider.FindingKind {
	t.Helper()
	findings, err := d.Check(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []provider.FindingKind
	for _, f := range findings {
		kinds = append(kinds, f.Kind)
	}
	return kinds
}

// An update that takes long is left to the back end. The next one takes its own time.
func TestLongUpdatesArePending(t *testing.T) {
	t.Parallel()
	d := newDriver(t, pgtest.Pool(t))
	r := updateOf(t, d, `{"update_duration": "2h"}`)
	expect := func(want string) {
		t.Helper()
		_, err := d.Update(t.Context(), r)
		if got := outcome(err); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	expect("pending")
	expect("pending")
	rewindUpdate(t, r, 3*time.Hour)
	expect("")
	expect("")
	r.Previous.Settings, r.Settings = r.Settings, json.RawMessage(`{"update_duration": "3h"}`)
	expect("pending")
}

// rewindUpdate lets the present update have begun earlier.
func rewindUpdate(t *testing.T, r *provider.Request, by time.Duration) {
	t.Helper()
	s, err := readState(r)
	if err != nil {
		t.Fatal(err)
	}
	s.Update.Began = s.Update.Began.Add(-by)
	if err := s.save(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// Each binding's removal fails as often as the knob says.
func TestUnbindFailures(t *testing.T) {
	t.Parallel()
	d := newDriver(t, pgtest.Pool(t))
	for settings, want := range map[string][]string{
		`{"fail_unbind": 1}`:        {"provider_unavailable", "", ""},
		`{"fail_unbind": "always"}`: {"provider_unavailable", "provider_unavailable"},
		`{}`:                        {"", ""},
	} {
		t.Run(settings, func(t *testing.T) {
			t.Parallel()
			var steps []string
			r := newRequest(settings, &steps)
			if _, err := d.Provision(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				r.BindingID = newRequest(settings, &steps).BindingID
				if _, err := d.Bind(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				var got []string
				for range want {
					got = append(got, outcome(d.Unbind(t.Context(), r)))
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// An instance made before its object recorded anything counts as unchanged, and can be updated.
func TestObjectWithoutDetail(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	d := newDriver(t, pool)
	r := updateOf(t, d, `{"steps": 2}`)
	_, err := pool.Exec(t.Context(), `UPDATE sandbox_object SET detail = '' WHERE instance_id = $1`, r.InstanceID)
	if err != nil {
		t.Fatal(err)
	}
	if found := findingKinds(t, d, r); found != nil {
		t.Errorf("Check found %v", found)
	}
	if _, err := d.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	r.Settings = json.RawMessage(`{}`)
	if diff := cmp.Diff([]provider.FindingKind{provider.Changed}, findingKinds(t, d, r)); diff != "" {
		t.Errorf("findings for the settings of before (-want +got):\n%s", diff)
	}
}
