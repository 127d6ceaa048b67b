package jobs

import (
	"testing"
)

func TestStartWithoutQuestionsSucceeds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	j := f.start(t, StartRequest{Name: "orders", Bind: true})
	mustBe(t, "state at start", j.State, Pending)
	j = f.untilState(t, j.ID, Succeeded)
	mustBe(t, "percent", *j.Progress.Percent, 100)

	in, err := f.GetInstance(t.Context(), f.caller, j.InstanceID)
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "instance", in.State, InstanceActive)
	mustBe(t, "endpoint", in.Endpoint["host"], "localhost")
	creds, err := f.ReadCredentials(t.Context(), f.caller, j.BindingID)
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "credentials", creds.Values["password"], canary)

	res, err := f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID})
	if err != nil {
		t.Fatal(err)
	}
	f.untilState(t, res.Job.ID, Succeeded)
	mustBe(t, "objects left", f.back.left(), 0)
	_, err = f.ReadCredentials(t.Context(), f.caller, j.BindingID)
	mustCode(t, err, BindingDeleted)
	again, err := f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID})
	if err != nil || !again.Existing || again.Job.ID != res.Job.ID {
		t.Fatalf("deleting again: %+v, %v", again, err)
	}
}

func TestQuestionsBeforeTheJobRuns(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	j := f.start(t, StartRequest{Plan: "region", Bind: true})
	mustBe(t, "state", j.State, AwaitingInput)
	mustBe(t, "questions", len(j.Questions), 2)
	mustCode(t, f.answer(t, f.caller, j, "region", map[string]any{"region": "mars"}), InvalidRequest)
	if err := f.answer(t, f.caller, j, "region", map[string]any{"region": "eu"}); err != nil {
		t.Fatal(err)
	}
	if err := f.answer(t, f.caller, j, "token", map[string]any{"token": canary}); err != nil {
		t.Fatal(err)
	}
	f.untilState(t, j.ID, Succeeded)
	in, err := f.GetInstance(t.Context(), f.caller, j.InstanceID)
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "region", in.Parameters["region"], any("eu"))
	if _, shown := in.Parameters["token"]; shown {
		t.Error("a secret parameter is shown")
	}
}
