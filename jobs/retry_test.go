package jobs

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provisiond/provisiond/provider"
)

func TestARetryableErrorIsTriedAgainAndShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	seg := f.claimed(t, f.start(t, StartRequest{}))
	err := seg.settle(t.Context(), nil, outcome{err: &provider.Error{Code: provider.ErrConflict, Message: "Busy.", Retryable: true}})
	if err != nil {
		t.Fatal(err)
	}
	j, err := f.Get(t.Context(), f.caller, seg.job.ID)
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "state", j.State, Pending)
	mustBe(t, "phase", j.Phase, Queued)
	f.exec(t, `INSERT INTO worker (id, drivers) VALUES ('wrk_test', '{scripted}')`)
	if j, _ = f.Get(t.Context(), f.caller, j.ID); !strings.Contains(j.Progress.Message, "provider_conflict: Busy.") {
		t.Errorf("progress %q does not say why", j.Progress.Message)
	}
	f.pass(t, j.ID)
	f.sweepNow(t)
	next := f.claimed(t, j)
	if err := next.settle(t.Context(), nil, outcome{endpoint: provider.Endpoint{}}); err != nil {
		t.Fatal(err)
	}
	j, _ = f.Get(t.Context(), f.caller, j.ID)
	mustBe(t, "state", j.State, Succeeded)
}

func TestAPermanentErrorCleansUpAndFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	f.back.provision = func(context.Context, *provider.Request) error {
		return &provider.Error{Code: provider.ErrRejected, Message: "No.", Cause: errors.New("cause " + canary)}
	}
	j := f.start(t, StartRequest{})
	j = f.untilState(t, j.ID, Failed)
	mustBe(t, "code", j.Error.Code, "provider_rejected")
	mustBe(t, "clean-ups", f.back.count("deprovision"), 1)
	mustBe(t, "leftovers", len(j.Leftovers), 0)
	res, err := f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID})
	if err != nil {
		t.Fatal(err)
	}
	f.untilState(t, res.Job.ID, Succeeded)
}

func TestWhatIsNotMineIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, code := range []provider.ErrorCode{provider.ErrNotMine, provider.ErrNeedsOperator} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.run(t)
			f.work(t)
			f.back.provision = func(context.Context, *provider.Request) error { return &provider.Error{Code: code, Message: "Whose?"} }
			j := f.untilState(t, f.start(t, StartRequest{}).ID, Failed)
			mustBe(t, "code", j.Error.Code, string(code))
			mustBe(t, "removals", f.back.count("deprovision"), 0)
		})
	}
}

func TestACleanUpThatFailsIsListed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	f.back.bind = func(context.Context, *provider.Request) error {
		return &provider.Error{Code: "no_bind", Message: "No."}
	}
	f.back.deprovision = func(context.Context, *provider.Request) error {
		return &provider.Error{Code: "stuck", Message: "Will not go."}
	}
	j := f.untilState(t, f.start(t, StartRequest{Bind: true}).ID, Failed)
	mustBe(t, "code", j.Error.Code, "no_bind")
	mustBe(t, "leftovers", len(j.Leftovers), 1)
	mustBe(t, "kind", j.Leftovers[0].Kind, "thing")
	mustBe(t, "reason", j.Leftovers[0].Reason, "the removal stopped: stuck: Will not go.")
}

// A back end that refuses every delete: the job fails with a code, and a repeat works once it can.
func TestADeleteThatFailsCanBeRepeated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	j := f.untilState(t, f.start(t, StartRequest{}).ID, Succeeded)
	var broken atomic.Bool
	broken.Store(true)
	f.back.deprovision = func(context.Context, *provider.Request) error {
		if broken.Load() {
			return &provider.Error{Code: provider.ErrRejected, Message: "500."}
		}
		return nil
	}
	res, err := f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID})
	if err != nil {
		t.Fatal(err)
	}
	failed := f.untilState(t, res.Job.ID, Failed)
	mustBe(t, "code", failed.Error.Code, "provider_rejected")
	mustBe(t, "leftovers", len(failed.Leftovers), 1)
	in, _ := f.GetInstance(t.Context(), f.caller, j.InstanceID)
	mustBe(t, "instance", in.State, InstanceFailed)
	broken.Store(false)
	if res, err = f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID}); err != nil {
		t.Fatal(err)
	}
	f.untilState(t, res.Job.ID, Succeeded)
	mustBe(t, "left", f.back.left(), 0)
}

func TestAProviderThatTakesTimeHoldsNoWorker(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	var calls atomic.Int32
	f.back.provision = func(context.Context, *provider.Request) error {
		if calls.Add(1) < 3 {
			return &provider.Pending{After: time.Hour, Message: "Still at it."}
		}
		return nil
	}
	j := f.start(t, StartRequest{})
	for n := range int32(2) {
		f.until(t, j.ID, "waiting", func(j Job) bool {
			return j.Phase == WaitingOnProvider && j.Progress.Message == "Still at it." && calls.Load() == n+1
		})
		f.pass(t, j.ID)
	}
	f.untilState(t, j.ID, Succeeded)
	mustBe(t, "calls", calls.Load(), 3)
}

func TestADriverThatPanicsFailsItsJobOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	f.back.provision = func(context.Context, *provider.Request) error { panic(canary) }
	j := f.untilState(t, f.start(t, StartRequest{}).ID, Failed)
	mustBe(t, "code", j.Error.Code, "provider_panic")
	if strings.Contains(f.log.text(), canary) {
		t.Error("the panic's value is logged")
	}
}

func TestTheDeadlineStopsARunningDriver(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(c *Config) { c.JobDeadline = time.Second })
	f.run(t)
	f.work(t)
	blocked(f)
	j := f.untilState(t, f.start(t, StartRequest{}).ID, Failed)
	mustBe(t, "code", j.Error.Code, codeDeadline)
	mustBe(t, "clean-ups", f.back.count("deprovision"), 1)
}
