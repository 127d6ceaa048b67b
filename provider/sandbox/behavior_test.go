package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/internal/pgtest"
	"github.com/provisiond/provisiond/provider"
)

// newRequest keeps its checkpoint for the next call, and what was reported in steps.
func newRequest(settings string, steps *[]string) *provider.Request {
	r := &provider.Request{
		InstanceID: "inst_" + strings.ToLower(rand.Text()),
		BindingID:  "bind_" + strings.ToLower(rand.Text()),
		Settings:   json.RawMessage(settings),
	}
	r.Checkpoint = func(_ context.Context, state []byte) error {
		r.State = state
		return nil
	}
	r.Report = func(_ context.Context, p provider.Progress) error {
		*steps = append(*steps, fmt.Sprintf("%s %d%%", p.Step, p.Percent))
		return nil
	}
	return r
}

// A long step is left to the back end; when its time is over, the next call goes on after it.
func TestLongStepsArePending(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	d := newDriver(t, pool)
	var steps []string
	r := newRequest(`{"duration": "2h", "steps": 2}`, &steps)

	expectPending := func() {
		t.Helper()
		_, err := d.Provision(t.Context(), r)
		var pending *provider.Pending
		if !errors.As(err, &pending) || pending.After > time.Hour || pending.After < 50*time.Minute {
			t.Fatalf("got %v, want Pending for about an hour", err)
		}
	}
	expectPending()
	expectPending()
	rewind(t, r, 61*time.Minute)
	expectPending()
	rewind(t, r, 61*time.Minute)
	if _, err := d.Provision(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"step_1 50%", "step_2 100%"}, steps); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	if n := count(t, pool, r.InstanceID); n != 1 {
		t.Errorf("%d objects, want 1", n)
	}
}

// rewind lets the present step have begun earlier.
func rewind(t *testing.T, r *provider.Request, by time.Duration) {
	t.Helper()
	s, err := readState(r)
	if err != nil {
		t.Fatal(err)
	}
	s.StepBegan = s.StepBegan.Add(-by)
	if err := s.save(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// Each of these plans fails first and then as often as it says.
func TestFailures(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	d := newDriver(t, pool)
	for name, test := range map[string]struct {
		settings string
		// want are the results of successive calls of Provision: "" is success, a word is a code, and
		// "!" marks one that is not retryable.
		want []string
	}{
		"lost answer": {`{"lose_answer": true}`, []string{"provider_unavailable", ""}},
		"always":      {`{"steps": 2, "fail_at_step": 2}`, []string{"provider_unavailable!", "provider_unavailable!"}},
		"twice": {`{"fail_at_step": 1, "failure": {"code": "quota", "retryable": true, "times": 2}}`,
			[]string{"quota", "quota", ""}},
		"never": {`{"fail_at_step": 1, "failure": {"times": 0}}`, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var steps []string
			r := newRequest(test.settings, &steps)
			var got []string
			for range test.want {
				_, err := d.Provision(t.Context(), r)
				got = append(got, outcome(err))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			if n := count(t, pool, r.InstanceID); n != 1 {
				t.Errorf("%d objects, want 1", n)
			}
		})
	}
}

func TestRemovalFailures(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	d := newDriver(t, pool)
	for settings, want := range map[string][]string{
		`{"fail_deprovision": 2}`:          {"provider_unavailable", "provider_unavailable", ""},
		`{"fail_deprovision": "always"}`:   {"provider_unavailable", "provider_unavailable", "provider_unavailable"},
		`{"deprovision_duration": "2h"}`:   {"pending", "pending"},
		`{"deprovision_duration": "10ms"}`: {""},
	} {
		t.Run(settings, func(t *testing.T) {
			t.Parallel()
			var steps []string
			r := newRequest(settings, &steps)
			if _, err := d.Provision(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			var got []string
			for range want {
				got = append(got, outcome(d.Deprovision(t.Context(), r)))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			gone := want[len(want)-1] == ""
			if n := count(t, pool, r.InstanceID); (n == 0) != gone {
				t.Errorf("%d objects are left, want gone: %t", n, gone)
			}
		})
	}
}

func outcome(err error) string {
	var failure *provider.Error
	var pending *provider.Pending
	switch {
	case err == nil:
		return ""
	case errors.As(err, &pending):
		return "pending"
	case errors.As(err, &failure) && failure.Retryable:
		return string(failure.Code)
	case errors.As(err, &failure):
		return string(failure.Code) + "!"
	default:
		return err.Error()
	}
}

// Users turn the knobs only where the plan lets them.
func TestOverrides(t *testing.T) {
	t.Parallel()
	d := newDriver(t, pgtest.Pool(t))
	for settings, want := range map[string]string{
		`{"overridable": true}`:  "boom!",
		`{"overridable": false}`: "",
		`{}`:                     "",
	} {
		var steps []string
		r := newRequest(settings, &steps)
		r.Parameters = map[string]any{
			"fail_at_step": float64(1), "failure": map[string]any{"code": "boom"}, "overridable": true,
		}
		_, err := d.Provision(t.Context(), r)
		if got := outcome(err); got != want {
			t.Errorf("%s: got %q, want %q", settings, got, want)
		}
	}
}
