package providertest

import (
	"cmp"
	"context"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/provider"
)

// outside lists what exists by the back end's own account, also when the test's context is done.
func (w *worker) outside() []provider.Object {
	w.t.Helper()
	objects, err := w.h.Objects(context.WithoutCancel(w.t.Context()), w.instanceID)
	if err != nil {
		w.t.Fatalf("Harness.Objects: %v", err)
	}
	return sorted(objects)
}

// A sight is all that can be seen of an instance from outside.
type sight struct {
	Objects []provider.Object
	Look    map[string]string
}

// see is outside, and how the instance is.
func (w *worker) see() sight {
	w.t.Helper()
	look, err := w.h.Look(context.WithoutCancel(w.t.Context()), w.instanceID)
	if err != nil {
		w.t.Fatalf("Harness.Look: %v", err)
	}
	return sight{w.outside(), look}
}

// expectSame checks that nothing has changed outside.
func (w *worker) expectSame(before sight, during string) {
	w.t.Helper()
	if diff := gocmp.Diff(before, w.see()); diff != "" {
		w.t.Errorf("%s changed what exists outside (-before +after):\n%s", during, diff)
	}
}

// expect checks the kinds of the objects that exist, and that Find lists these very objects.
func (w *worker) expect(kinds []string) {
	w.t.Helper()
	objects := w.outside()
	if diff := gocmp.Diff(kinds, kindsOf(objects)); diff != "" {
		w.t.Errorf("kinds of objects that exist outside (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(objects, w.found()); diff != "" {
		w.t.Errorf("Find against what exists outside (-want +got):\n%s", diff)
	}
}

func (w *worker) found() []provider.Object {
	w.t.Helper()
	var objects []provider.Object
	w.complete(func(ctx context.Context, r *provider.Request) (err error) {
		objects, err = w.h.Driver.Find(ctx, r)
		return err
	})
	return sorted(objects)
}

// intent is what the suite knows of the promise to call Checkpoint right before each outside call that
// makes something.
type intent struct {
	// known is what existed outside at the last look.
	known []provider.Object
	// announced is true from a Checkpoint until something was made.
	announced bool
}

// checkIntent looks whether anything was made since the last look, and whether a Checkpoint was called
// before it.
func (w *worker) checkIntent() {
	w.t.Helper()
	now := w.outside()
	made := slices.DeleteFunc(slices.Clone(now), func(o provider.Object) bool {
		return slices.Contains(w.intent.known, o)
	})
	if len(made) > 0 && !w.intent.announced {
		w.t.Errorf("made without a Checkpoint before: %v", made)
	}
	w.intent = intent{known: now, announced: w.intent.announced && len(made) == 0}
}

// sorted never returns nil, so that two lists of nothing are equal.
func sorted(objects []provider.Object) []provider.Object {
	objects = append([]provider.Object{}, objects...)
	slices.SortFunc(objects, func(a, b provider.Object) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	return objects
}

func kindsOf(objects []provider.Object) []string {
	kinds := make([]string, len(objects))
	for i, o := range objects {
		kinds[i] = o.Kind
	}
	return kinds
}
