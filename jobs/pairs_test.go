package jobs

import (
	"context"
	"errors"
	"testing"

	"github.com/provisiond/provisiond/provider"
)

// pairs is the table of what an operation is told while another one works on the instance: a code, "" for
// one that begins, "same" for the job that works on it already.
var pairs = map[Operation]map[Operation]string{
	OpProvision: {
		OpProvision: "same", OpUpdate: "operation_in_progress", OpBind: "operation_in_progress",
		OpRotate: "not_ready", OpUnbind: "not_ready", OpDeprovision: "",
	},
	OpUpdate: {
		OpProvision: "first", OpUpdate: "operation_in_progress", OpBind: "operation_in_progress",
		OpRotate: "operation_in_progress", OpUnbind: "operation_in_progress", OpDeprovision: "",
	},
	OpBind: {
		OpProvision: "first", OpUpdate: "operation_in_progress", OpBind: "same",
		OpRotate: "operation_in_progress", OpUnbind: "operation_in_progress", OpDeprovision: "",
	},
	OpRotate: {
		OpProvision: "first", OpUpdate: "operation_in_progress", OpBind: "operation_in_progress",
		OpRotate: "same", OpUnbind: "operation_in_progress", OpDeprovision: "",
	},
	OpUnbind: {
		OpProvision: "first", OpUpdate: "operation_in_progress", OpBind: "operation_in_progress",
		OpRotate: "binding_deleted", OpUnbind: "same", OpDeprovision: "",
	},
	OpDeprovision: {
		OpProvision: "operation_in_progress", OpUpdate: "instance_not_active", OpBind: "operation_in_progress",
		OpRotate: "operation_in_progress", OpUnbind: "operation_in_progress", OpDeprovision: "same",
	},
}

// A start that has the name of an instance is answered with the job that made it, whatever works on it now.
func TestPairsOfOperations(t *testing.T) {
	t.Parallel()
	for running, row := range pairs {
		for asked, want := range row {
			t.Run(string(running)+" then "+string(asked), func(t *testing.T) {
				t.Parallel()
				p := newPair(t, running)
				job, err := p.ask(t, asked)
				e, _ := errors.AsType[*Error](err)
				switch {
				case want == "same":
					mustBe(t, "job", job.ID, p.working.ID)
				case want == "first":
					mustBe(t, "job", job.ID, p.first.ID)
				case want == "" && err != nil:
					t.Fatal(err)
				case want == "":
					p.release()
					p.untilState(t, job.ID, Succeeded)
					mustBe(t, "the first job", p.untilFinal(t, p.working.ID).State, Canceled)
					mustBe(t, "left outside", p.back.left(), 0)
				default:
					mustCode(t, err, Code(want))
					if want == "operation_in_progress" && (e.JobID != p.working.ID || e.InstanceID != p.first.InstanceID || e.RetryAfter == 0) {
						t.Errorf("what stands in the way: %+v, want job %s", e, p.working.ID)
					}
				}
				p.release()
				p.untilFinal(t, p.working.ID)
			})
		}
	}
}

// pair is an instance with an operation that works on it until it is released or canceled.
type pair struct {
	*fixture
	first, working Job
	release        func()
}

func newPair(t *testing.T, op Operation) *pair {
	t.Helper()
	f := newFixture(t)
	f.Service = f.withCatalog(t, lifeCatalog)
	gate, entered := make(chan struct{}), make(chan struct{}, 10)
	p := &pair{fixture: f, release: func() {
		select {
		case <-gate:
		default:
			close(gate)
		}
	}}
	t.Cleanup(p.release)
	f.caller = f.newCaller(t, "acme", KindPerson)
	hold := func(ctx context.Context, _ *provider.Request) error {
		entered <- struct{}{}
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.run(t)
	if op == OpProvision {
		f.back.provision = hold
		f.work(t)
		p.first = f.start(t, StartRequest{Plan: "small", Name: "shop", Bind: true})
		p.working = p.first
		<-entered
		return p
	}
	f.work(t)
	p.first = f.untilState(t, f.start(t, StartRequest{Plan: "small", Name: "shop", Bind: true}).ID, Succeeded)
	f.back.mu.Lock()
	f.back.update, f.back.bind, f.back.unbind, f.back.deprovision = hold, hold, hold, nil
	if op == OpDeprovision {
		f.back.deprovision = hold
	}
	f.back.mu.Unlock()
	var err error
	if p.working, err = p.ask(t, op); err != nil {
		t.Fatal(err)
	}
	<-entered
	return p
}

// ask makes the call that begins the operation.
func (p *pair) ask(t *testing.T, op Operation) (Job, error) {
	t.Helper()
	var r Result
	var err error
	switch op {
	case OpProvision:
		r, err = p.Start(t.Context(), p.caller, StartRequest{Service: "thing", Plan: "small", Name: "shop", Bind: true})
	case OpUpdate:
		var u UpdateResult
		u, err = p.Update(t.Context(), p.caller, UpdateRequest{InstanceID: p.first.InstanceID, Parameters: map[string]any{"size": 2}})
		if u.Job != nil {
			r.Job = *u.Job
		}
	case OpBind:
		r, err = p.Bind(t.Context(), p.caller, BindRequest{InstanceID: p.first.InstanceID, Name: "app"})
	case OpRotate:
		r, err = p.Rotate(t.Context(), p.caller, RotateRequest{BindingID: p.first.BindingID})
	case OpUnbind:
		r, err = p.Unbind(t.Context(), p.caller, p.first.BindingID, "")
	default:
		r, err = p.Delete(t.Context(), p.caller, DeleteRequest{InstanceID: p.first.InstanceID})
	}
	return r.Job, err
}

func (f *fixture) untilFinal(t testing.TB, jobID string) Job {
	t.Helper()
	return f.until(t, jobID, "final", func(j Job) bool { return j.State.Final() })
}
