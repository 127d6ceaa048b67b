package providertest

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/provider"
)

// testNothing: Deprovision of what was never made succeeds, and Bind to it fails and makes nothing.
func testNothing(t *testing.T, h Harness) {
	w := newWorker(t, h)
	w.deprovision()
	w.expectError(w.try(t.Context(), w.bindAndLose), provider.ErrRejected, "")
	w.expect([]string{})
	w.deprovision()
}

// testForeign: Provision over a foreign object fails for good, and neither it nor Deprovision nor Find
// takes the object for the instance's.
func testForeign(t *testing.T, h Harness) {
	for name, plant := range h.Foreign {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorker(t, h)
			untouched := plant(t, w.request())
			w.expectError(w.try(t.Context(), w.provision), provider.ErrNotMine, "")
			untouched(t)
			if found := w.found(); len(found) > 0 {
				t.Errorf("Find lists foreign or new objects: %v", found)
			}
			w.expectError(w.try(t.Context(), w.h.Driver.Deprovision), provider.ErrNotMine, "")
			untouched(t)
		})
	}
}

// testForeignBinding: Bind over a foreign object fails for good. Deprovision removes the instance and
// leaves the object.
func testForeignBinding(t *testing.T, h Harness) {
	for name, plant := range h.ForeignBinding {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorker(t, h)
			w.complete(w.provision)
			r := w.request()
			r.BindingID = w.bindingID
			untouched := plant(t, r)
			w.expectError(w.try(t.Context(), w.bindAndLose), provider.ErrNotMine, "")
			untouched(t)
			w.complete(w.h.Driver.Deprovision)
			untouched(t)
		})
	}
}

// testDone: with a context that is done, each method returns its error and does nothing at all.
func testDone(t *testing.T, h Harness) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()

	w := newWorker(t, h)
	check := func(name string, do method) {
		t.Helper()
		before := w.outside()
		for _, ctx := range []context.Context{canceled, late} {
			w.dieAtStop(0, killed)
			if err := w.call(ctx, do); !isContextError(err, ctx.Err()) {
				t.Errorf("%s: got %v, want %v", name, err, ctx.Err())
			}
			if w.stops > 0 {
				t.Errorf("%s: Checkpoint or Report was called", name)
			}
		}
		if diff := gocmp.Diff(before, w.outside()); diff != "" {
			t.Errorf("%s changed what exists outside (-before +after):\n%s", name, diff)
		}
	}
	check("Provision", w.provision)
	w.complete(w.provision)
	for name, do := range w.methods(h.Driver) {
		check(name, do)
	}
}

// testOdd: odd parameters work, or are refused by name and for good.
func testOdd(t *testing.T, h Harness) {
	for name, odd := range h.Odd {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorker(t, h)
			w.parameters = maps.Clone(h.Parameters)
			maps.Copy(w.parameters, odd.Parameters)
			if odd.Want == "" {
				live(w)
				return
			}
			w.expectError(w.try(t.Context(), w.provision), odd.Want, odd.Names)
			w.deprovision()
		})
	}
}

// testUnreachable: each method says that the back end is not available and may be tried again.
func testUnreachable(t *testing.T, h Harness) {
	w := newWorker(t, h)
	w.answers = h.Answers // so that there is nothing left to ask before the back end is called
	for name, do := range w.methods(h.Unreachable) {
		err := w.call(t.Context(), do)
		var failure *provider.Error
		if !errors.As(err, &failure) || failure.Code != provider.ErrUnavailable || !failure.Retryable {
			t.Errorf("%s: got %v, want a retryable %s", name, err, provider.ErrUnavailable)
		}
	}
}

// methods are those of the driver, by name.
func (w *worker) methods(d provider.Driver) map[string]method {
	return map[string]method{
		"Provision": func(ctx context.Context, r *provider.Request) error {
			_, err := d.Provision(ctx, r)
			return err
		},
		"Bind": func(ctx context.Context, r *provider.Request) error {
			r.BindingID = w.bindingID
			_, err := d.Bind(ctx, r)
			return err
		},
		"Find": func(ctx context.Context, r *provider.Request) error {
			_, err := d.Find(ctx, r)
			return err
		},
		"Deprovision": d.Deprovision,
	}
}

// expectError checks that the driver failed for good, with the code and a message that names the thing.
func (w *worker) expectError(err error, code provider.ErrorCode, names string) {
	w.t.Helper()
	failure, ok := errors.AsType[*provider.Error](err)
	if !ok {
		w.t.Fatalf("got %v, want an error with code %s", err, code)
	}
	if failure.Code != code || failure.Retryable || failure.Message == "" {
		w.t.Errorf("got %v (retryable: %t), want code %s, not retryable, with a message", err, failure.Retryable, code)
	}
	if !strings.Contains(failure.Message, names) {
		w.t.Errorf("the message does not name %q: %s", names, failure.Message)
	}
}
