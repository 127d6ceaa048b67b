package jobs

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/provisiond/provisiond/provider"
)

// blocked makes a provision that waits for its context or for the returned release, and says when it
// has begun.
func blocked(f *fixture) (begun chan struct{}, release chan struct{}) {
	begun, release = make(chan struct{}, 100), make(chan struct{})
	f.back.provision = func(ctx context.Context, _ *provider.Request) error {
		begun <- struct{}{}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-release:
			return nil
		}
	}
	return begun, release
}

func TestCancelBeforeAWorkerHasIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	j := f.start(t, StartRequest{})
	res, err := f.Cancel(t.Context(), f.caller, j.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "state", res.Job.State, Canceled)
	in, _ := f.GetInstance(t.Context(), f.caller, j.InstanceID)
	mustBe(t, "instance", in.State, InstanceDeleted)
	if res, err = f.Cancel(t.Context(), f.caller, j.ID, ""); err != nil || res.Job.State != Canceled {
		t.Fatalf("again: %v %v", res.Job.State, err)
	}
}

func TestCancelWhileAwaitingInput(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	j := f.start(t, StartRequest{Plan: "paid"})
	res, err := f.Cancel(t.Context(), f.caller, j.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "state", res.Job.State, Canceled)
	mustBe(t, "question", res.Job.Questions[0].State, QuestionWithdrawn)
	mustCode(t, f.answerTo(t, f.caller, res.Job.ID, res.Job.Questions[0].ID, map[string]any{"confirm": true}), QuestionWasWithdrawn)
}

func TestCancelReachesARunningWorkerAndCleansUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	begun, _ := blocked(f)
	j := f.start(t, StartRequest{})
	<-begun
	res, err := f.Cancel(t.Context(), f.caller, j.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "phase", res.Job.Phase, Canceling)
	f.untilState(t, j.ID, Canceled)
	mustBe(t, "clean-ups", f.back.count("deprovision"), 1)
	mustBe(t, "overlap", f.back.overlap, false)
}

// A cancel that was answered holds, even when the driver succeeds in the same moment.
func TestCancelWinsOverASuccessThatComesLate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	seg := f.claimed(t, f.start(t, StartRequest{}))
	if _, err := f.Cancel(t.Context(), f.caller, seg.job.ID, ""); err != nil {
		t.Fatal(err)
	}
	if err := seg.settle(t.Context(), nil, outcome{endpoint: provider.Endpoint{}}); err != nil {
		t.Fatal(err)
	}
	f.run(t)
	f.work(t)
	f.untilState(t, seg.job.ID, Canceled)
	mustBe(t, "clean-ups", f.back.count("deprovision"), 1)
}

func TestCancelOfAFinishedJobIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	j := f.start(t, StartRequest{})
	f.untilState(t, j.ID, Succeeded)
	_, err := f.Cancel(t.Context(), f.caller, j.ID, "")
	mustCode(t, err, JobFinished)
}

func TestDeleteDuringProvisionCancelsItFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	begun, _ := blocked(f)
	j := f.start(t, StartRequest{})
	<-begun
	res, err := f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID})
	if err != nil {
		t.Fatal(err)
	}
	again, err := f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID})
	if err != nil || again.Job.ID != res.Job.ID || !again.Existing {
		t.Fatalf("a second delete: %+v %v", again, err)
	}
	f.untilState(t, res.Job.ID, Succeeded)
	f.untilState(t, j.ID, Canceled)
	mustBe(t, "removals", f.back.count("deprovision"), 1)
	mustBe(t, "overlap", f.back.overlap, false)
	in, _ := f.GetInstance(t.Context(), f.caller, j.InstanceID)
	mustBe(t, "instance", in.State, InstanceDeleted)
}

func TestRacingDeletesDuringProvision(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 20 {
		j := f.start(t, StartRequest{}) // no worker runs; the lock of its job is what the calls wait for
		f.claimed(t, j)
		ids := make([]string, 8)
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() {
				res, err := f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID})
				if err != nil {
					t.Error(err)
				}
				ids[i] = res.Job.ID
			})
		}
		all.Wait()
		mustBe(t, "jobs that delete it", len(slices.Compact(ids)), 1)
	}
}

func TestDeleteCalledOffAsTheJobBeforeItEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 30 {
		j := f.start(t, StartRequest{})
		before := f.claimed(t, j)
		res, err := f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID})
		if err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := f.Cancel(t.Context(), f.caller, res.Job.ID, ""); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			if err := before.settle(t.Context(), nil, outcome{}); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
	}
}

func TestDeleteWhileAwaitingInput(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	j := f.start(t, StartRequest{Plan: "paid"})
	res, err := f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID})
	if err != nil {
		t.Fatal(err)
	}
	f.untilState(t, res.Job.ID, Succeeded)
	f.untilState(t, j.ID, Canceled)
	mustBe(t, "driver calls", len(f.back.calls), 0)
}

func TestCancelOfADeleteThatHasNotBegunRestoresTheInstance(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	w, err := f.StartWorker(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	j := f.start(t, StartRequest{Bind: true})
	f.untilState(t, j.ID, Succeeded)
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	res, err := f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID})
	if err != nil {
		t.Fatal(err)
	}
	if res, err = f.Cancel(t.Context(), f.caller, res.Job.ID, ""); err != nil {
		t.Fatal(err)
	}
	mustBe(t, "state", res.Job.State, Canceled)
	in, _ := f.GetInstance(t.Context(), f.caller, j.InstanceID)
	mustBe(t, "instance", in.State, InstanceActive)
	if _, err := f.ReadCredentials(t.Context(), f.caller, j.BindingID); err != nil {
		t.Fatalf("credentials after the canceled delete: %v", err)
	}
}

// What a driver has made by the time of a cancel is recorded for the clean-up, and nothing more is begun: a
// checkpoint is stored and stops the driver, whether its context has ended yet or not.
func TestACheckpointAfterACancelIsStored(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]func(context.Context){
		"context done":     func(ctx context.Context) { <-ctx.Done() },
		"context not done": func(context.Context) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			var made, seen string
			f.back.provision = func(ctx context.Context, r *provider.Request) error {
				if _, err := f.Cancel(t.Context(), f.caller, jobOf(t, f, r.InstanceID), ""); err != nil {
					return err
				}
				wait(ctx)
				if err := r.Report(ctx, provider.Progress{Step: "late"}); err == nil {
					t.Error("a report was taken")
				}
				if err := r.Checkpoint(ctx, []byte("made")); err != nil {
					return err
				}
				made = "more"
				return nil
			}
			f.back.deprovision = func(_ context.Context, r *provider.Request) error { seen = string(r.State); return nil }
			j := f.start(t, StartRequest{})
			f.claimed(t, j).run(t.Context())
			mustBe(t, "made after the cancel", made, "")
			f.claimed(t, j).run(t.Context())
			mustBe(t, "state in the clean-up", seen, "made")
			mustBe(t, "state", f.job(t, j.ID).State, Canceled)
		})
	}
}

func jobOf(t *testing.T, f *fixture, instanceID string) string {
	t.Helper()
	return f.instance(t, instanceID).JobID
}
