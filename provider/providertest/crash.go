package providertest

import (
	"fmt"
	"testing"
)

// testStartDeaths: after a death at any stop of a start with a binding, the next call finds what the dead
// worker made. There is one instance with one binding, and it works.
func testStartDeaths(t *testing.T, h Harness) {
	eachDeath(t, h, deadly{
		before: func(*worker) {},
		during: func(w *worker) method { return w.start },
		after:  func(w *worker) { w.expectHealthy() },
	})
}

// testBindDeaths: the same for Bind.
func testBindDeaths(t *testing.T, h Harness) {
	eachDeath(t, h, deadly{
		before: func(w *worker) { w.complete(w.provision) },
		during: func(w *worker) method { return w.bind },
		after:  func(w *worker) { w.expectHealthy() },
	})
}

// testRotationDeaths: the same for the Bind of a second binding and the Unbind of the first.
func testRotationDeaths(t *testing.T, h Harness) {
	eachDeath(t, h, deadly{
		before: func(w *worker) { w.complete(w.provision); w.bindMore(1); w.bindingID = newBindingID() },
		during: func(w *worker) method { return w.rotate(w.bindings[0].id) },
		after: func(w *worker) {
			old := w.bindings[0]
			w.dropBinding(old.id)
			w.expectEnded(old)
			w.expectWorking(w.bindings...)
			w.expectHealthy()
		},
	})
}

// testDeprovisionDeaths: the same for Deprovision of a bound instance.
func testDeprovisionDeaths(t *testing.T, h Harness) {
	eachDeath(t, h, deadly{
		before: func(w *worker) { w.complete(w.provision); w.complete(w.bind) },
		during: func(w *worker) method { return w.h.Driver.Deprovision },
		after:  func(*worker) {},
	})
}

// testUpdateDeaths: the same for Update of a bound instance.
func testUpdateDeaths(t *testing.T, h Harness) {
	for name, u := range h.Updates {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachDeath(t, h, deadly{
				before: func(w *worker) { w.complete(w.provision); w.complete(w.bind) },
				during: func(w *worker) method { return w.update(w.change(u), nil) },
				after: func(w *worker) {
					w.expectLook(u.Want)
					w.expectWorking(w.bindings...)
					w.adopt(w.change(u))
					w.expectHealthy()
				},
			})
		})
	}
}

// testUnbindDeaths: the same for Unbind of one of two bindings.
func testUnbindDeaths(t *testing.T, h Harness) {
	eachDeath(t, h, deadly{
		before: func(w *worker) { w.complete(w.provision); w.bindMore(2) },
		during: func(w *worker) method { return w.unbind(w.bindings[0].id) },
		after: func(w *worker) {
			w.expectEnded(w.bindings[0])
			w.dropBinding(w.bindings[0].id)
			w.expectWorking(w.bindings...)
			w.expectHealthy()
		},
	})
}

// A deadly test lets the worker die during one method.
type deadly struct {
	before func(*worker)
	during func(*worker) method
	after  func(*worker)
}

// eachDeath counts the stops of an undisturbed run, whose answer is lost, and then dies at each of them in
// each way.
func eachDeath(t *testing.T, h Harness, test deadly) {
	w := newWorker(t, h)
	test.before(w)
	w.dieAtStop(0, killed)
	w.complete(test.during(w))
	stops, want := w.stops, kindsOf(w.outside())
	w.complete(test.during(w))
	w.expect(want)
	test.after(w)

	forEachStop(t, stops, func(t *testing.T, n int, d death) {
		w := newWorker(t, h)
		test.before(w)
		w.dieAtStop(n, d)
		w.complete(test.during(w))
		if w.stops < n {
			t.Fatalf("the undisturbed run had %d stops, this one ended after %d", stops, w.stops)
		}
		w.expect(want)
		test.after(w)
		w.deprovision()
	})
}

func forEachStop(t *testing.T, stops int, test func(t *testing.T, n int, d death)) {
	for _, d := range []death{superseded, killed} {
		for n := 1; n <= stops; n++ {
			t.Run(fmt.Sprintf("%s at stop %d of %d", d, n, stops), func(t *testing.T) {
				t.Parallel()
				test(t, n, d)
			})
		}
	}
}

// testHalfMade: a Provision dies at each of its stops, and no one goes on with it. Deprovision removes
// what there is.
func testHalfMade(t *testing.T, h Harness) {
	w := newWorker(t, h)
	w.complete(w.provision)

	forEachStop(t, w.stops, func(t *testing.T, n int, d death) {
		w := newWorker(t, h)
		w.dieAtStop(n, d)
		w.completeOrDie(w.provision)
		w.deprovision()
	})
}

// testHalfUpdated: an Update dies at each of its stops, and no one goes on with it. The instance can be
// updated to what it was, and Deprovision removes it.
func testHalfUpdated(t *testing.T, h Harness) {
	for name, u := range h.Updates {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorker(t, h)
			w.complete(w.provision)
			w.dieAtStop(0, killed)
			w.complete(w.update(w.change(u), nil))

			forEachStop(t, w.stops, func(t *testing.T, n int, d death) {
				w := newWorker(t, h)
				w.complete(w.provision)
				w.dieAtStop(n, d)
				w.completeOrDie(w.update(w.change(u), nil))
				w.complete(w.update(w.change(Update{}), nil))
				w.expectHealthy()
				w.dieAtStop(n, d)
				w.completeOrDie(w.update(w.change(u), nil))
				w.deprovision()
			})
		})
	}
}

// testHalfBound: a Bind dies at each of its stops, and no one goes on with it. Unbind removes what there
// is.
func testHalfBound(t *testing.T, h Harness) {
	w := newWorker(t, h)
	w.complete(w.provision)
	w.dieAtStop(0, killed)
	w.complete(w.bind)

	forEachStop(t, w.stops, func(t *testing.T, n int, d death) {
		w := newWorker(t, h)
		w.complete(w.provision)
		unbound := w.see()
		w.dieAtStop(n, d)
		w.completeOrDie(w.bindAndLose)
		w.complete(w.unbind(w.bindingID))
		w.expectSame(unbound, "Bind and Unbind")
		w.deprovision()
	})
}
