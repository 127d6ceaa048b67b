package providertest

import (
	"context"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/provider"
)

// change is what the update makes of the instance's configuration.
func (w *worker) change(u Update) provider.Configuration {
	c := provider.Configuration{Settings: w.settings, Parameters: maps.Clone(w.parameters)}
	if u.Settings != nil {
		c.Settings = u.Settings
	}
	if c.Parameters == nil {
		c.Parameters = map[string]any{}
	}
	maps.Copy(c.Parameters, u.Parameters)
	return c
}

// update is Update to the configuration, with its endpoint kept where e is not nil. The worker does not
// take the configuration for the instance's before adopt.
func (w *worker) update(to provider.Configuration, e *provider.Endpoint) method {
	return func(ctx context.Context, r *provider.Request) error {
		r.Previous = &provider.Configuration{Settings: r.Settings, Parameters: r.Parameters}
		r.Settings, r.Parameters = to.Settings, maps.Clone(to.Parameters)
		endpoint, err := w.h.Driver.Update(ctx, r)
		w.say(slices.Collect(maps.Values(endpoint))...)
		if e != nil {
			*e = endpoint
		}
		return err
	}
}

// adopt takes the configuration for the instance's.
func (w *worker) adopt(c provider.Configuration) { w.settings, w.parameters = c.Settings, c.Parameters }

// looks reports whether the instance is as Harness.Look should say.
func (w *worker) looks(want map[string]string) bool {
	w.t.Helper()
	return gocmp.Equal(want, pick(w.see().Look, want))
}

func (w *worker) expectLook(want map[string]string) {
	w.t.Helper()
	if diff := gocmp.Diff(want, pick(w.see().Look, want)); diff != "" {
		w.t.Errorf("Harness.Look after the update (-want +got):\n%s", diff)
	}
}

// pick returns the part of a map that the other has keys for.
func pick(m, keys map[string]string) map[string]string {
	picked := map[string]string{}
	for key := range keys {
		if value, ok := m[key]; ok {
			picked[key] = value
		}
	}
	return picked
}

// testUpdate: an instance is updated, and the update repeated. It is seen outside, and its binding goes on.
func testUpdate(t *testing.T, h Harness) {
	for name, u := range h.Updates {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorker(t, h)
			w.complete(w.provision)
			w.bindMore(1)
			w.write(w.bindings[0], "hello")
			if w.looks(u.Want) {
				t.Fatalf("before the update the instance looks as after it: %v", u.Want)
			}

			var first, second provider.Endpoint
			to := w.change(u)
			w.complete(w.update(to, &first))
			w.expectLook(u.Want)
			updated := w.see()
			w.complete(w.update(to, &second))
			w.expectSame(updated, "the repeated update")
			if diff := gocmp.Diff(first, second); diff != "" {
				t.Errorf("endpoint of the second Update (-first +second):\n%s", diff)
			}

			w.adopt(to)
			w.expectStillGood("hello")
			w.bindMore(1)
			w.expectText(w.bindings[1], "hello")
			w.deprovision()
		})
	}
}

// expectStillGood checks that the bindings work, that the data is there, and that Check finds nothing.
func (w *worker) expectStillGood(text string) {
	w.t.Helper()
	w.expect(kindsOf(w.outside()))
	w.expectWorking(w.bindings...)
	w.expectText(w.bindings[0], text)
	w.expectHealthy()
}

// testUpdates: one instance is updated again and again.
func testUpdates(t *testing.T, h Harness) {
	w := newWorker(t, h)
	w.complete(w.provision)
	w.bindMore(1)
	w.write(w.bindings[0], "hello")
	for _, name := range slices.Sorted(maps.Keys(h.Updates)) {
		u := h.Updates[name]
		to := w.change(u)
		w.complete(w.update(to, nil))
		w.expectLook(u.Want)
		w.adopt(to)
		w.expectStillGood("hello")
	}
	w.deprovision()
}

// testRefusedUpdate: what cannot be changed is refused by name and for good, and all goes on as before.
func testRefusedUpdate(t *testing.T, h Harness) {
	for name, u := range h.RefusedUpdates {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorker(t, h)
			w.complete(w.provision)
			w.bindMore(1)
			w.write(w.bindings[0], "hello")
			before := w.see()
			to := w.change(Update{Settings: u.Settings, Parameters: u.Parameters})
			w.expectError(w.try(t.Context(), w.update(to, nil)), provider.ErrRejected, u.Names)
			w.expectSame(before, "the refused update")
			w.expectStillGood("hello")
			w.deprovision()
		})
	}
}
