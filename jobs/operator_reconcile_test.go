package jobs

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/provisiond/provisiond/provider"
)

// lister is a back end that can list, where others share it.
type lister struct {
	*backEnd
	owned []provider.Owned
	err   error
}

func (l *lister) List(context.Context) ([]provider.Owned, error) { return l.owned, l.err }

func TestReconcile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	j := f.start(t, StartRequest{})
	f.claimed(t, j).run(t.Context())
	gone := f.start(t, StartRequest{})
	f.claimed(t, gone).run(t.Context())
	f.claimed(t, f.deleting(t, gone)).run(t.Context())
	f.caller = f.newCaller(t, "other", KindAgent)
	foreign := f.start(t, StartRequest{}) // being made by another tenant

	owned := func(name, instanceID string) provider.Owned {
		return provider.Owned{Object: provider.Object{Kind: "thing", Name: name}, InstanceID: instanceID}
	}
	back := &lister{f.back, []provider.Owned{owned("a", j.InstanceID), owned("b", gone.InstanceID), owned("c", "inst_unknown"), owned("d", foreign.InstanceID)}, nil}
	c := loadCatalog(t, `
services:
  - { id: first, name: First, driver: scripted, plans: [{ id: plain, name: Plain }] }
  - { id: second, name: Second, driver: scripted, plans: [{ id: plain, name: Plain }] }
`, back)
	o := f.operator(t)
	strays, err := o.Reconcile(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := []Stray{
		{Owned: owned("b", gone.InstanceID), Service: "first", Driver: "scripted", Deleted: true},
		{Owned: owned("c", "inst_unknown"), Service: "first", Driver: "scripted"},
	}
	if diff := cmp.Diff(want, strays, cmpopts.IgnoreUnexported(Stray{})); diff != "" {
		t.Error(diff)
	}
	for _, want := range []int{2, 0} {
		if n, err := o.RecordStrays(t.Context(), strays); err != nil || n != want {
			t.Errorf("recorded %d, want %d: %v", n, want, err)
		}
	}
	f.sameLedger(t, gone.InstanceID, map[string]bool{"thing": false})
	f.sameLedger(t, "inst_unknown", map[string]bool{"thing": false})
	mustBe(t, "events", f.events(t, gone.InstanceID, "operator.record_orphan"), 1)

	back.err = errors.New("no route to host")
	if _, err := o.Reconcile(t.Context(), c); err == nil || !errors.Is(err, back.err) {
		t.Errorf("a back end that is away: %v", err)
	}
}
