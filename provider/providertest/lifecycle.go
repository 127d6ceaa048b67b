package providertest

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/provider"
)

// provision is Provision.
func (w *worker) provision(ctx context.Context, r *provider.Request) error {
	var e provider.Endpoint
	return w.provisionTo(&e)(ctx, r)
}

// provisionTo is Provision with its endpoint kept.
func (w *worker) provisionTo(e *provider.Endpoint) method {
	return func(ctx context.Context, r *provider.Request) (err error) {
		*e, err = w.h.Driver.Provision(ctx, r)
		w.say(slices.Collect(maps.Values(*e))...)
		return err
	}
}

// start is what provisiond does for a start with a binding: Provision, and then Bind with the last checkpoint.
// To repeat it is to repeat both.
func (w *worker) start(ctx context.Context, r *provider.Request) error {
	return w.startTo(w.bind)(ctx, r)
}

func (w *worker) startTo(bind method) method {
	return func(ctx context.Context, r *provider.Request) error {
		r.BindingID = w.bindingID
		if err := w.provision(ctx, r); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		r.State = bytes.Clone(w.state)
		return bind(ctx, r)
	}
}

// deprovision is Deprovision, after which nothing exists.
func (w *worker) deprovision() {
	w.t.Helper()
	w.complete(w.h.Driver.Deprovision)
	w.expect([]string{})
}

// testLifecycle: provision, bind, connect, deprovision, with Find in between.
func testLifecycle(t *testing.T, h Harness) { live(newWorker(t, h)) }

// live leads one instance through its life.
func live(w *worker) {
	w.t.Helper()
	w.complete(w.provision)
	made := kindsOf(w.outside())
	if len(made) == 0 {
		w.t.Fatal("Provision succeeded, and Harness.Objects lists nothing")
	}
	w.expect(made)
	w.complete(w.bind)
	w.expect(kindsOf(w.outside()))
	w.deprovision()
}

// testRepeat: the answer of each call is lost, and the call made again. Nothing is made twice.
func testRepeat(t *testing.T, h Harness) {
	w := newWorker(t, h)
	var first, second provider.Endpoint
	w.complete(w.provisionTo(&first))
	made := kindsOf(w.outside())
	w.complete(w.provisionTo(&second))
	if diff := gocmp.Diff(first, second); diff != "" {
		t.Errorf("endpoint of the second Provision (-first +second):\n%s", diff)
	}
	w.expect(made)

	w.complete(w.bindAndLose)
	bound := kindsOf(w.outside())
	w.complete(w.bind)
	w.expect(bound)

	w.deprovision()
	w.deprovision()
}

// testStart: Provision comes again before each try of Bind, also when that has made the binding.
func testStart(t *testing.T, h Harness) {
	w := newWorker(t, h)
	w.complete(w.startTo(w.bindAndLose))
	bound := w.see()
	w.complete(w.start)
	w.expectSame(bound, "the repeated start")
	w.expectHealthy()
	w.deprovision()
}

// testParallel: the driver is safe for concurrent use, and one instance's end leaves others alone.
func testParallel(t *testing.T, h Harness) {
	for range 8 {
		t.Run("instance", func(t *testing.T) {
			t.Parallel()
			live(newWorker(t, h))
		})
	}
}
