package providertest

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/provisiond/provisiond/provider"
)

// testNothing: Deprovision and Unbind of what was never made, or is gone, succeed. Bind to it and Update
// of it fail and make nothing, and Update says that the instance does not work.
func testNothing(t *testing.T, h Harness) {
	w := newWorker(t, h)
	nothing := func() {
		t.Helper()
		w.deprovision()
		w.complete(w.unbind(w.bindingID))
		w.expectError(w.try(t.Context(), w.bindAndLose), provider.ErrRejected, "")
		for _, u := range h.Updates {
			failure := w.expectFailure(w.try(t.Context(), w.update(w.change(u), nil)), provider.ErrRejected)
			if !failure.Unusable || !failure.NotRepeatable {
				t.Errorf("Update without the instance must say Unusable and NotRepeatable; got %+v", failure)
			}
		}
		w.expect([]string{})
	}
	nothing()
	w.complete(w.provision)
	w.complete(w.bind)
	nothing()
}

// testForeign: Provision over a foreign object fails for good, and neither it nor any other method takes
// the object for the instance's. Check finds it.
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
			w.expectFinding(provider.Foreign, "")
			for _, u := range h.Updates {
				w.expectError(w.try(t.Context(), w.update(w.change(u), nil)), provider.ErrNotMine, "")
			}
			w.expectError(w.try(t.Context(), w.h.Driver.Deprovision), provider.ErrNotMine, "")
			untouched(t)
		})
	}
}

// testForeignBinding: Bind over a foreign object fails for good, and so does Unbind. Check finds it.
// Deprovision removes the instance and leaves the object.
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
			w.expectError(w.try(t.Context(), w.unbind(w.bindingID)), provider.ErrNotMine, "")
			w.bindings = []*binding{{id: w.bindingID}}
			w.expectFinding(provider.Foreign, "")
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
		before := w.see()
		for _, ctx := range []context.Context{canceled, late} {
			w.dieAtStop(0, killed)
			if err := w.call(ctx, do); !isContextError(err, ctx.Err()) {
				t.Errorf("%s: got %v, want %v", name, err, ctx.Err())
			}
			if w.stops > 0 {
				t.Errorf("%s: Checkpoint or Report was called", name)
			}
		}
		w.expectSame(before, name)
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
	methods := map[string]method{
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
		"Update": func(ctx context.Context, r *provider.Request) error {
			r.Previous = &provider.Configuration{Settings: w.settings, Parameters: maps.Clone(w.parameters)}
			_, err := d.Update(ctx, r)
			return err
		},
		"Unbind": func(ctx context.Context, r *provider.Request) error {
			r.BindingID = w.bindingID
			return d.Unbind(ctx, r)
		},
		"Check": func(ctx context.Context, r *provider.Request) error {
			r.Bindings = []string{w.bindingID}
			_, err := d.Check(ctx, r)
			return err
		},
	}
	if lister, ok := d.(provider.Lister); ok {
		methods["List"] = func(ctx context.Context, _ *provider.Request) error {
			_, err := lister.List(ctx)
			return err
		}
	}
	return methods
}

// expectError checks that the driver refused for good and left the instance as it was, with the code and a
// message that names the thing.
func (w *worker) expectError(err error, code provider.ErrorCode, names string) {
	w.t.Helper()
	failure := w.expectFailure(err, code)
	if failure.Unusable && code == provider.ErrRejected {
		w.t.Error("a refusal changes nothing, and yet the instance is said to be unusable")
	}
	if !strings.Contains(failure.Message, names) {
		w.t.Errorf("the message does not name %q: %s", names, failure.Message)
	}
}

// expectFailure checks that the driver failed for good, with the code and a message.
func (w *worker) expectFailure(err error, code provider.ErrorCode) *provider.Error {
	w.t.Helper()
	failure, ok := errors.AsType[*provider.Error](err)
	if !ok {
		w.t.Fatalf("got %v, want an error with code %s", err, code)
	}
	if failure.Code != code || failure.Retryable || failure.Message == "" {
		w.t.Errorf("got %v (retryable: %t), want code %s, not retryable, with a message", err, failure.Retryable, code)
	}
	return failure
}
