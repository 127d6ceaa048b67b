package jobs

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/provisiond/provisiond/provider"
)

// The canary goes in as a secret parameter, a secret answer and credentials, and a driver is careless
// with it. It must be in no log, event, job, error, ticket, or plain dump of the database.
func TestACanarySecretIsNowhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	tries := 0
	f.back.provision = func(ctx context.Context, r *provider.Request) error {
		careless := "with " + r.Parameters["token"].(string)
		tries++
		if err := r.Checkpoint(ctx, []byte(careless)); err != nil {
			return err
		}
		if err := r.Report(ctx, provider.Progress{Percent: 10, Step: careless, Message: careless}); err != nil {
			return err
		}
		if tries == 1 {
			return &provider.Error{Code: provider.ErrorCode(careless), Message: careless, Retryable: true, Cause: errors.New(careless)}
		}
		if a, ok := r.Answers["pin"]; ok {
			if a["pin"] != canary {
				t.Errorf("the driver got %v", a["pin"])
			}
			return nil
		}
		q := question("pin")
		q.Secret = true
		return &provider.InputRequired{Questions: []provider.Question{q}}
	}
	j := f.start(t, StartRequest{Plan: "region", Bind: true, Parameters: map[string]any{"region": "eu", "token": canary}, IdempotencyKey: "k"})
	j = f.untilState(t, j.ID, AwaitingInput)
	if err := f.answer(t, f.caller, j, "pin", map[string]any{"pin": canary}); err != nil {
		t.Fatal(err)
	}
	j = f.untilState(t, j.ID, Succeeded)
	creds, err := f.ReadCredentials(t.Context(), f.caller, j.BindingID)
	if err != nil || creds.Values["password"] != canary {
		t.Fatalf("credentials: %v %v", creds, err)
	}

	tries = 1
	f.back.bind = func(_ context.Context, r *provider.Request) error {
		return &provider.Error{Code: "bad", Message: r.Parameters["token"].(string), Cause: errors.New(canary)}
	}
	failed := f.start(t, StartRequest{Plan: "region", Bind: true,
		Parameters: map[string]any{"region": "eu", "token": canary}, Answers: map[string]any{"pin": canary}})
	failed = f.untilState(t, failed.ID, Failed)
	mustBe(t, "message", failed.Error.Message, "***")

	dump, err := exec.CommandContext(t.Context(), "pg_dump", "--dbname", f.pool.Config().ConnString()).CombinedOutput()
	if err != nil {
		t.Fatalf("pg_dump: %v\n%s", err, dump)
	}
	for place, text := range map[string]string{"the database": string(dump), "the log": f.log.text(), "a job": show(j) + show(failed)} {
		if i := strings.Index(text, canary); i >= 0 {
			t.Errorf("the canary is in %s: …%s…", place, text[max(0, i-200):i])
		}
	}
	if !strings.Contains(string(dump), j.ID) || !strings.Contains(f.log.text(), j.ID) {
		t.Error("the scan looked at the wrong things")
	}
}

func TestASealedValueOpensOnlyInItsPlace(t *testing.T) {
	t.Parallel()
	keyset, err := CreateKeyset()
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadKeyset(keyset)
	if err != nil {
		t.Fatal(err)
	}
	home := place{"tnt_a", "binding", "bind_1", "credentials"}
	sealed, err := s.seal(home, canary)
	if err != nil {
		t.Fatal(err)
	}
	rotated, _, err := RotateKeyset(keyset)
	if err != nil {
		t.Fatal(err)
	}
	added, err := ReadKeyset(rotated)
	if err != nil {
		t.Fatal(err)
	}
	promoted, _, err := PromoteKeyset(rotated)
	if err != nil {
		t.Fatal(err)
	}
	newer, err := ReadKeyset(promoted)
	if err != nil {
		t.Fatal(err)
	}
	for _, sealer := range []*Sealer{s, added, newer} {
		var got string
		if err := sealer.open(home, sealed, &got); err != nil || got != canary {
			t.Errorf("got %q, %v", got, err)
		}
	}
	for _, elsewhere := range []place{
		{"tnt_b", "binding", "bind_1", "credentials"}, {"tnt_a", "question", "bind_1", "credentials"},
		{"tnt_a", "binding", "bind_2", "credentials"}, {"tnt_a", "binding", "bind_1", "answer"},
	} {
		var got string
		if err := s.open(elsewhere, sealed, &got); err == nil {
			t.Errorf("opens at %v", elsewhere)
		}
	}
	fresh, err := newer.seal(home, canary)
	if err != nil {
		t.Fatal(err)
	}
	var got string
	if err := added.open(home, fresh, &got); err != nil {
		t.Errorf("a replica in the middle of the rotation: %v", err)
	}
	if between, err := added.seal(home, canary); err != nil || s.open(home, between, &got) != nil {
		t.Errorf("the old keyset does not open what is sealed in the middle of the rotation: %v", err)
	}
	if err := s.open(home, fresh, &got); err == nil {
		t.Error("the old keyset opens what the new key has sealed")
	}
	if _, err := ReadKeyset([]byte(`{"secret":"` + canary + `"}`)); err == nil || strings.Contains(err.Error(), canary) {
		t.Errorf("a broken keyset: %v", err)
	}
}

// A worker with the wrong keyset says why the job does not run, and leaves it to one with the right one.
func TestAWorkerWithTheWrongKeysetSetsTheJobAside(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	j := f.start(t, StartRequest{Plan: "region", Parameters: map[string]any{"region": "eu", "token": canary}})
	c := f.cfg
	keyset, err := CreateKeyset()
	if err != nil {
		t.Fatal(err)
	}
	if c.Sealer, err = ReadKeyset(keyset); err != nil {
		t.Fatal(err)
	}
	wrong, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wrong.claim(t.Context(), "wrk_wrong", ticketArgs{JobID: j.ID, Epoch: 1}); !errors.Is(err, errNoKey) {
		t.Fatalf("claim: %v", err)
	}
	f.exec(t, `INSERT INTO worker (id, drivers) VALUES ('wrk_wrong', '{scripted}')`)
	if j, err = f.Get(t.Context(), f.caller, j.ID); err != nil || !strings.Contains(j.Progress.Message, "keyset lacks the key") {
		t.Errorf("%q does not say why; %v", j.Progress.Message, err)
	}
	f.pass(t, j.ID)
	f.run(t)
	f.work(t)
	f.untilState(t, j.ID, Succeeded)
}
