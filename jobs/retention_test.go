package jobs

import "testing"

func TestRetention(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	ctx := t.Context()
	kept := f.untilState(t, f.start(t, StartRequest{Name: "kept", Bind: true}).ID, Succeeded)
	gone := f.untilState(t, f.start(t, StartRequest{Name: "gone", Bind: true, IdempotencyKey: "k"}).ID, Succeeded)
	del, err := f.Delete(ctx, f.caller, DeleteRequest{InstanceID: gone.InstanceID})
	if err != nil {
		t.Fatal(err)
	}
	f.untilState(t, del.Job.ID, Succeeded)
	if _, err := f.removeOld(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Get(ctx, f.caller, gone.ID); err != nil {
		t.Fatalf("a young job: %v", err)
	}
	f.exec(t, `UPDATE job SET finished_at = finished_at - interval '31 days' WHERE instance_id = $1`, gone.InstanceID)
	f.exec(t, `UPDATE instance SET updated_at = updated_at - interval '31 days'`)
	f.exec(t, `UPDATE idempotency SET created_at = created_at - interval '25 hours'`)
	for range 2 { // the instance goes after its jobs
		if _, err := f.removeOld(ctx); err != nil {
			t.Fatal(err)
		}
	}
	_, err = f.Get(ctx, f.caller, gone.ID)
	mustCode(t, err, NotFound)
	_, err = f.GetInstance(ctx, f.caller, gone.InstanceID)
	mustCode(t, err, NotFound)
	for sql, want := range map[string]int{
		`SELECT count(*) FROM event WHERE job_id = '` + gone.ID + `'`: 0,
		`SELECT count(*) FROM idempotency`:                            0,
		`SELECT count(*) FROM binding`:                                1,
	} {
		var n int
		if err := f.pool.QueryRow(ctx, sql).Scan(&n); err != nil {
			t.Fatal(err)
		}
		mustBe(t, sql, n, want)
	}
	if _, err := f.GetInstance(ctx, f.caller, kept.InstanceID); err != nil {
		t.Errorf("a live instance: %v", err)
	}
}

func TestStatsCountLapsedLeases(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	seg := f.claimed(t, f.start(t, StartRequest{}))
	f.start(t, StartRequest{})
	stats, err := f.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "running", stats.Jobs["running"], 1)
	mustBe(t, "queued", stats.Jobs["queued"], 1)
	mustBe(t, "lapsed", stats.LeaseLapsed, 0)
	f.lapse(t, seg.job.ID)
	if stats, err = f.Stats(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustBe(t, "lapsed", stats.LeaseLapsed, 1)
}
