package jobs

import (
	"context"
	"testing"

	"github.com/provisiond/provisiond/provider"
)

// confirmable is an active instance whose deletion an agent has asked for.
func confirmable(t *testing.T, f *fixture) Job {
	t.Helper()
	j := f.untilState(t, f.start(t, StartRequest{Plan: "precious", Name: "orders", Bind: true}).ID, Succeeded)
	res, err := f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID})
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "state", res.Job.State, AwaitingInput)
	mustBe(t, "question", res.Job.Questions[0].Name, "confirm_destroy")
	mustBe(t, "answerable by", res.Job.Questions[0].AnswerableBy, AnswererPerson)
	f.mustBeUsable(t, j.InstanceID, j.BindingID)
	return res.Job
}

// mustBeUsable fails the test unless the instance is as if nobody had wanted to delete it.
func (f *fixture) mustBeUsable(t *testing.T, instanceID, bindingID string) {
	t.Helper()
	in, err := f.GetInstance(t.Context(), f.caller, instanceID)
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "instance", in.State, InstanceActive)
	if bindingID == "" {
		return
	}
	if _, err := f.ReadCredentials(t.Context(), f.caller, bindingID); err != nil {
		t.Errorf("credentials of an instance that is not deleted: %v", err)
	}
}

func TestAPersonConfirmsWhatAnAgentDeletes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	person := f.newCaller(t, "acme", KindPerson)
	yes := map[string]any{"confirm": true}

	j := confirmable(t, f)
	again, err := f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID})
	if err != nil || !again.Existing || again.Job.ID != j.ID || again.Job.State != AwaitingInput {
		t.Fatalf("an agent's second call: %+v, %v", again, err)
	}
	mustCode(t, f.answer(t, f.caller, j, "confirm_destroy", yes), PersonRequired)
	if err := f.answer(t, person, j, "confirm_destroy", yes); err != nil {
		t.Fatal(err)
	}
	f.untilState(t, j.ID, Succeeded)
	mustBe(t, "objects left", f.back.left(), 0)
}

func TestADeletionThatIsNotConfirmedChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	person := f.newCaller(t, "acme", KindPerson)
	for name, end := range map[string]func(t *testing.T, j Job) State{
		"no": func(t *testing.T, j Job) State {
			t.Helper()
			if err := f.answer(t, person, j, "confirm_destroy", map[string]any{"confirm": false}); err != nil {
				t.Fatal(err)
			}
			return Canceled
		},
		"canceled": func(t *testing.T, j Job) State {
			t.Helper()
			if _, err := f.Cancel(t.Context(), f.caller, j.ID, ""); err != nil {
				t.Fatal(err)
			}
			return Canceled
		},
		"expired": func(t *testing.T, j Job) State {
			t.Helper()
			f.exec(t, `UPDATE question SET expires_at = clock_timestamp() WHERE job_id = $1`, j.ID)
			f.pass(t, j.ID)
			f.sweepNow(t)
			return Failed
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := confirmable(t, f)
			f.untilState(t, j.ID, end(t, j))
			f.mustBeUsable(t, j.InstanceID, "")
			// The name is free again for the next case once a person deletes the instance.
			res, err := f.Delete(t.Context(), person, DeleteRequest{InstanceID: j.InstanceID})
			if err != nil {
				t.Fatal(err)
			}
			f.untilState(t, res.Job.ID, Succeeded)
		})
	}
}

func TestAPersonsDeleteConfirmsAnAgents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	j := confirmable(t, f)
	res, err := f.Delete(t.Context(), f.newCaller(t, "acme", KindPerson), DeleteRequest{InstanceID: j.InstanceID})
	if err != nil || res.Job.ID != j.ID || res.Job.State != Pending {
		t.Fatalf("a person's delete: %+v, %v", res, err)
	}
	f.untilState(t, j.ID, Succeeded)
}

func TestAnAgentDeletesWhatHoldsNoDataUnasked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	j := f.start(t, StartRequest{Plan: "precious"}) // no worker: it stays queued
	res, err := f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID})
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "state", res.Job.State, Pending)
	f.work(t)
	f.untilState(t, res.Job.ID, Succeeded)
}

// A failed instance has given its name up; its end must not stumble over who has it now.
func TestDeleteOfFailedInstanceWhoseNameIsTaken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	f.back.provision = func(context.Context, *provider.Request) error {
		return &provider.Error{Code: "refused", Message: "Refused."}
	}
	failed := f.untilState(t, f.start(t, StartRequest{Name: "shop"}).ID, Failed)
	f.back.provision = nil
	f.untilState(t, f.start(t, StartRequest{Name: "shop"}).ID, Succeeded)
	res, err := f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: failed.InstanceID})
	if err != nil {
		t.Fatal(err)
	}
	f.untilState(t, res.Job.ID, Succeeded)
}
