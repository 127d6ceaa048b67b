package providertest

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/provider"
)

// testNames: a Namer says beforehand, and without the back end, what is then made.
func testNames(t *testing.T, h Harness) {
	namer, ok := h.Unreachable.(provider.Namer)
	if !ok {
		return // names are a back end's to give
	}
	w := newWorker(t, h)
	r := w.request()
	instance := sorted(namer.Names(r))
	r.BindingID = w.bindingID
	bound := sorted(namer.Names(r))

	w.complete(w.provision)
	if diff := gocmp.Diff(instance, w.outside()); diff != "" {
		t.Errorf("Names against what Provision made (-names +made):\n%s", diff)
	}
	w.complete(w.bind)
	if diff := gocmp.Diff(bound, w.outside()); diff != "" {
		t.Errorf("Names against what Provision and Bind made (-names +made):\n%s", diff)
	}
}

// testList: a Lister lists all that exists of each instance, and nothing of one that is gone.
func testList(t *testing.T, h Harness) {
	lister, ok := h.Driver.(provider.Lister)
	if !ok {
		return // not every back end can list
	}
	workers := []*worker{newWorker(t, h), newWorker(t, h)}
	for _, w := range workers {
		w.complete(w.provision)
		w.bindMore(2)
	}
	for _, w := range workers {
		w.expectListed(lister)
	}
	workers[0].deprovision()
	for _, w := range workers {
		w.expectListed(lister)
	}
}

// expectListed checks what List lists of the instance. Others come and go at the same time.
func (w *worker) expectListed(lister provider.Lister) {
	w.t.Helper()
	all, err := lister.List(w.t.Context())
	if err != nil {
		w.t.Fatalf("List: %v", err)
	}
	objects := []provider.Object{}
	for _, o := range all {
		if o.InstanceID == w.instanceID {
			objects = append(objects, o.Object)
		}
	}
	if diff := gocmp.Diff(w.outside(), sorted(objects)); diff != "" {
		w.t.Errorf("List against what exists outside (-want +got):\n%s", diff)
	}
}
