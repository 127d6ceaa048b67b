package jobs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/provisiond/provisiond/provider"
)

// A worker that died: its job passes on when the lease has lapsed, and it writes nothing more.
func TestALapsedLeasePassesTheJobOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dead := f.claimed(t, f.start(t, StartRequest{}))
	f.lapse(t, dead.job.ID)
	f.sweepNow(t)
	mustBe(t, "epoch", f.epochOf(t, dead.job.ID), dead.epoch+1)

	// What a thawed worker tries.
	if err := dead.checkpoint(t.Context(), []byte("late")); !errors.Is(err, errLostLease) {
		t.Errorf("checkpoint: %v", err)
	}
	if err := dead.report(t.Context(), provider.Progress{Step: "late"}); !errors.Is(err, errLostLease) {
		t.Errorf("report: %v", err)
	}
	if _, _, err := dead.renew(t.Context()); !errors.Is(err, errLostLease) {
		t.Errorf("renew: %v", err)
	}
	for _, out := range []outcome{{}, {err: errors.New("late")}, {err: &provider.Pending{After: time.Second}}, {err: &provider.Error{Code: "late"}}} {
		if err := dead.settle(t.Context(), nil, out); !errors.Is(err, errLostLease) {
			t.Errorf("settle: %v", err)
		}
	}

	next := f.claimed(t, dead.job)
	// Also when the new worker runs it.
	if err := dead.settle(t.Context(), nil, outcome{}); !errors.Is(err, errLostLease) {
		t.Errorf("settle: %v", err)
	}
	if err := next.settle(t.Context(), nil, outcome{endpoint: provider.Endpoint{}}); err != nil {
		t.Fatal(err)
	}
	j, err := f.Get(t.Context(), f.caller, next.job.ID)
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "state", j.State, Succeeded)
}

func TestAStaleTicketDoesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	j := f.start(t, StartRequest{})
	f.claimed(t, j)
	for _, epoch := range []int64{0, 1, 2, 99} {
		seg, err := f.claim(t.Context(), "wrk_other", ticketArgs{JobID: j.ID, Epoch: epoch})
		if seg != nil || err != nil {
			t.Errorf("epoch %d: %v %v", epoch, seg, err)
		}
	}
}

// A worker whose lease is taken from it stops its driver.
func TestTheDriverIsStoppedWhenTheLeaseIsLost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	stopped := make(chan error, 1)
	first := true
	begun := make(chan struct{}, 10)
	f.back.provision = func(ctx context.Context, _ *provider.Request) error {
		if !first {
			return nil
		}
		first = false
		begun <- struct{}{}
		<-ctx.Done()
		stopped <- context.Cause(ctx)
		return ctx.Err()
	}
	j := f.start(t, StartRequest{})
	<-begun
	f.exec(t, `UPDATE job SET epoch = epoch + 1, phase = 'queued', owner = NULL, lease_until = NULL,
	           due_at = clock_timestamp() - interval '1 s', version = version + 1 WHERE id = $1`, j.ID)
	if cause := <-stopped; !errors.Is(cause, errLostLease) {
		t.Errorf("cause: %v", cause)
	}
	f.untilState(t, j.ID, Succeeded)
}

// A lost ticket (discarded by River, or its worker died before the claim) costs a look of the sweep.
func TestALostTicketIsReissued(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]string{
		"deleted":   `DELETE FROM river.river_job`,
		"discarded": `UPDATE river.river_job SET state = 'discarded', finalized_at = now()`,
		"dead":      `UPDATE river.river_job SET state = 'running', attempted_at = now() - interval '1 hour'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			j := f.start(t, StartRequest{})
			f.pass(t, j.ID)
			f.sweepNow(t)
			mustBe(t, "epoch while the ticket lives", f.epochOf(t, j.ID), 1)
			f.exec(t, lose)
			f.pass(t, j.ID)
			f.sweepNow(t)
			mustBe(t, "epoch", f.epochOf(t, j.ID), 2)
			f.run(t)
			f.work(t)
			f.untilState(t, j.ID, Succeeded)
		})
	}
}

// A drain releases at once what it cuts off.
func TestStopReleasesRunningJobs(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(c *Config) { c.Lease = time.Hour })
	f.run(t)
	w, err := f.StartWorker(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	begun, release := blocked(f)
	j := f.start(t, StartRequest{})
	<-begun
	cutOff, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Stop(cutOff); err != nil {
		t.Fatal(err)
	}
	close(release)
	f.work(t)
	f.untilState(t, j.ID, Succeeded)
	mustBe(t, "overlap", f.back.overlap, false)
}

func TestQueuedJobSaysThatNoWorkerIsAlive(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	j := f.start(t, StartRequest{})
	if want := `Queued: no live worker has the driver "scripted". The job waits for one until its deadline.`; j.Progress.Message != want {
		t.Errorf("got %q", j.Progress.Message)
	}
	f.exec(t, `UPDATE job SET deadline_at = clock_timestamp() - interval '1 s', due_at = clock_timestamp() - interval '1 s' WHERE id = $1`, j.ID)
	f.sweepNow(t)
	j, err := f.Get(t.Context(), f.caller, j.ID)
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "state", j.State, Failed)
	mustBe(t, "code", j.Error.Code, codeDeadline)
}

// The first binding of an instance is made with what Provision has checkpointed last.
func TestBindGetsTheLastCheckpoint(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	f.back.provision = func(ctx context.Context, r *provider.Request) error { return r.Checkpoint(ctx, []byte("made")) }
	states := make(chan string, 1)
	f.back.bind = func(_ context.Context, r *provider.Request) error {
		states <- string(r.State)
		return nil
	}
	f.untilState(t, f.start(t, StartRequest{Bind: true}).ID, Succeeded)
	mustBe(t, "state", <-states, "made")
}
