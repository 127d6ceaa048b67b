package jobs

import (
	"context"
	"errors"
	"testing"
	"time"
)

// waitFor runs a Wait and hands over its result.
func waitFor(s *Service, c Caller, jobID string, since int64) chan Job {
	got := make(chan Job, 1)
	go func() {
		j, _ := s.Wait(context.Background(), c, jobID, since, time.Minute)
		got <- j
	}()
	return got
}

// untilWaiting returns when somebody waits for the job in this process.
func untilWaiting(t *testing.T, s *Service, jobID string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		s.hub.mu.Lock()
		registered := len(s.hub.waiters[jobID]) > 0
		s.hub.mu.Unlock()
		if registered {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("nobody waits")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestWaitWakesOnBothReplicas(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	other := *f
	other.Service = f.withCatalog(t, testCatalog)
	other.run(t)
	j := f.start(t, StartRequest{})
	here, there := waitFor(f.Service, f.caller, j.ID, 0), waitFor(other.Service, f.caller, j.ID, 0)
	untilWaiting(t, f.Service, j.ID)
	untilWaiting(t, other.Service, j.ID)
	if _, err := f.Cancel(t.Context(), f.caller, j.ID, ""); err != nil {
		t.Fatal(err)
	}
	mustBe(t, "here", (<-here).State, Canceled)
	mustBe(t, "there", (<-there).State, Canceled)
}

// A lost notification costs a re-check, never a hang.
func TestWaitSurvivesALostListener(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	j := f.start(t, StartRequest{})
	got := waitFor(f.Service, f.caller, j.ID, 0)
	untilWaiting(t, f.Service, j.ID)
	// Both behind the back of our notifications: the connection is cut, the change made by hand.
	f.exec(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()`)
	f.exec(t, `UPDATE job SET state = 'canceled', phase = NULL, due_at = NULL, finished_at = now(), version = version + 1 WHERE id = $1`, j.ID)
	mustBe(t, "state", (<-got).State, Canceled)
}

func TestWaitForAVersion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	j := f.start(t, StartRequest{Plan: "region"})
	// Not pending: at once. An old version: at once.
	if got := <-waitFor(f.Service, f.caller, j.ID, 0); got.State != AwaitingInput {
		t.Errorf("got %s", got.State)
	}
	<-waitFor(f.Service, f.caller, j.ID, j.Version+5)
	got := waitFor(f.Service, f.caller, j.ID, j.Version)
	untilWaiting(t, f.Service, j.ID)
	if err := f.answer(t, f.caller, j, "region", map[string]any{"region": "eu"}); err != nil {
		t.Fatal(err)
	}
	mustBe(t, "version", (<-got).Version, j.Version+1)
}

func TestDrainEndsWaits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	j := f.start(t, StartRequest{})
	got := waitFor(f.Service, f.caller, j.ID, 0)
	untilWaiting(t, f.Service, j.ID)
	f.Drain()
	f.Drain() // twice is fine
	mustBe(t, "state", (<-got).State, Pending)
	mustCode(t, f.Ready(t.Context()), Draining)
}

func TestWaitEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	j := f.start(t, StartRequest{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Wait(ctx, f.caller, j.ID, 0, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
