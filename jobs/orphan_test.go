package jobs

import (
	"context"
	"testing"

	"github.com/provisiond/provisiond/provider"
)

// An instance's orphans are tried as a whole: each line counts the try of the job that it shows, and none claims
// that the error, of which it is not known what it is about, is its own.
func TestOrphansOfAnInstanceAreTriedTogether(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.back.deprovision = func(context.Context, *provider.Request) error {
		return &provider.Error{Code: "in_use", Message: "The table is in use."}
	}
	f.back.find = func() []provider.Object {
		return []provider.Object{{Kind: "table", Name: "a"}, {Kind: "login", Name: "b"}}
	}
	j := f.start(t, StartRequest{})
	f.claimed(t, j).run(t.Context())
	f.claimed(t, f.deleting(t, j)).run(t.Context())
	ledger := func() []Orphan {
		t.Helper()
		list, err := f.operator(t).ListOrphans(t.Context(), OrphanFilter{InstanceID: j.InstanceID})
		if err != nil || len(list) != 2 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list
	}
	first := ledger()
	if err := f.operator(t).RetryOrphan(t.Context(), first[1].ID, ""); err != nil {
		t.Fatal(err)
	}
	for range 2 { // another replica's sweep finds nothing to do
		if err := f.retryOrphan(t.Context(), first[1].ID); err != nil {
			t.Fatal(err)
		}
	}
	again := f.instance(t, j.InstanceID).JobID
	f.claimed(t, Job{ID: again}).run(t.Context())
	for i, o := range ledger() {
		mustBe(t, o.Kind+": tries", o.Tries, 1)
		mustBe(t, o.Kind+": job", o.JobID, again)
		mustBe(t, o.Kind+": reason", o.Reason, "the removal stopped: in_use: The table is in use.")
		if o.TriedAt == nil || !o.RetryAt.After(*first[i].RetryAt) {
			t.Errorf("%s: tried at %v, next at %v", o.Kind, o.TriedAt, o.RetryAt)
		}
	}
}

// What needs an operator is not tried by itself, also where another line of the instance is.
func TestOrphansThatNeedAnOperatorStaySo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.back.deprovision = func(context.Context, *provider.Request) error { return &provider.Error{Code: "no", Message: "No."} }
	j := f.start(t, StartRequest{})
	f.claimed(t, j).run(t.Context())
	f.claimed(t, f.deleting(t, j)).run(t.Context())
	f.exec(t, `
		INSERT INTO orphan (id, tenant_id, instance_id, job_id, service, driver, kind, name, reason)
		SELECT 'orph_0', tenant_id, instance_id, job_id, service, driver, 'login', 'x', 'not_mine: Foreign.' FROM orphan`)
	f.exec(t, `UPDATE orphan SET retry_at = clock_timestamp() WHERE id <> 'orph_0'`)
	if err := f.retryOrphans(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := f.operator(t).ListOrphans(t.Context(), OrphanFilter{InstanceID: j.InstanceID})
	if err != nil || len(list) != 2 || list[0].Tries != 1 || list[0].RetryAt != nil || list[1].Tries != 1 || list[1].RetryAt == nil {
		t.Errorf("%+v, %v", list, err)
	}
}
