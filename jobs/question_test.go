package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provisiond/provisiond/provider"
)

func question(name string) provider.Question {
	return provider.Question{
		Name: name, Message: "Which " + name + "?",
		Schema: json.RawMessage(`{"type":"object","properties":{"` + name + `":{"type":"string","minLength":2}},"required":["` + name + `"]}`),
	}
}

// asksOnce makes a provision that asks the questions until it has answers to all, and counts the work
// it did before asking.
func asksOnce(f *fixture, before *atomic.Int32, questions ...provider.Question) {
	f.back.provision = func(ctx context.Context, r *provider.Request) error {
		if r.State == nil {
			before.Add(1)
			if err := r.Checkpoint(ctx, []byte("made")); err != nil {
				return err
			}
		}
		var open []provider.Question
		for _, q := range questions {
			if _, ok := r.Answers[q.Name]; !ok {
				open = append(open, q)
			}
		}
		if len(open) > 0 {
			return &provider.InputRequired{Questions: open}
		}
		return nil
	}
}

func TestADriverAsksAndGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	var before atomic.Int32
	asksOnce(f, &before, question("color"), question("size"))
	j := f.start(t, StartRequest{})
	j = f.untilState(t, j.ID, AwaitingInput)
	if err := f.answer(t, f.caller, j, "size", map[string]any{"size": "xl"}); err != nil {
		t.Fatal(err)
	}
	j, _ = f.Get(t.Context(), f.caller, j.ID)
	mustBe(t, "state with one open", j.State, AwaitingInput)
	if err := f.answer(t, f.caller, j, "color", map[string]any{"color": "red"}); err != nil {
		t.Fatal(err)
	}
	f.untilState(t, j.ID, Succeeded)
	mustBe(t, "work before the question", before.Load(), 1)
}

func TestAnswersInAdvance(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	var before atomic.Int32
	asksOnce(f, &before, question("color"))
	// A bare value for a question of one field.
	j := f.start(t, StartRequest{Answers: map[string]any{"color": "red"}, FailOnQuestion: true})
	j = f.untilState(t, j.ID, Succeeded)
	mustBe(t, "question", j.Questions[0].State, QuestionAnswered)

	j = f.start(t, StartRequest{Plan: "paid", Answers: map[string]any{"confirm_cost": true, "color": map[string]any{"color": "red"}}})
	f.untilState(t, j.ID, Succeeded)

	_, err := f.Start(t.Context(), f.caller, StartRequest{Service: "thing", Plan: "paid", Answers: map[string]any{"confirm_cost": false}})
	mustCode(t, err, InvalidRequest)
	_, err = f.Start(t.Context(), f.caller, StartRequest{Service: "thing", Plan: "region", Answers: map[string]any{"region": "mars"}})
	mustCode(t, err, InvalidRequest)
}

func TestOnQuestionFail(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	j := f.start(t, StartRequest{Plan: "region", FailOnQuestion: true, Name: "x", Bind: true})
	mustBe(t, "state", j.State, Failed)
	mustBe(t, "code", j.Error.Code, "input_required")
	mustBe(t, "questions", len(j.Questions), 2)
	f.start(t, StartRequest{Name: "x"}) // the name is free again

	var before atomic.Int32
	asksOnce(f, &before, question("color"))
	j = f.untilState(t, f.start(t, StartRequest{FailOnQuestion: true}).ID, Failed)
	mustBe(t, "code", j.Error.Code, "input_required")
	mustBe(t, "question", j.Questions[0].State, QuestionWithdrawn)
	mustBe(t, "clean-ups", f.back.count("deprovision"), 1)
}

func TestSameAnswerAgainAndAnotherOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	j := f.start(t, StartRequest{Plan: "region"})
	region, token := j.Questions[0].ID, j.Questions[1].ID
	for range 2 {
		if err := f.answerTo(t, f.caller, j.ID, region, map[string]any{"region": "eu"}); err != nil {
			t.Fatal(err)
		}
	}
	mustCode(t, f.answerTo(t, f.caller, j.ID, region, map[string]any{"region": "us"}), QuestionAlreadyAnswered)
	if err := f.answerTo(t, f.caller, j.ID, token, map[string]any{"token": canary}); err != nil {
		t.Fatal(err)
	}
	if err := f.answerTo(t, f.caller, j.ID, token, map[string]any{"token": canary}); err != nil {
		t.Fatal(err)
	}
	mustCode(t, f.answerTo(t, f.caller, j.ID, newID("qst"), map[string]any{}), NotFound)
	mustCode(t, f.answerTo(t, f.caller, newID("job"), token, map[string]any{}), NotFound)
}

func TestPersonOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	var before atomic.Int32
	q := question("consent")
	q.PersonOnly = true
	asksOnce(f, &before, q)
	j := f.untilState(t, f.start(t, StartRequest{}).ID, AwaitingInput)
	mustCode(t, f.answer(t, f.caller, j, "consent", map[string]any{"consent": "yes"}), PersonRequired)
	service := f.newCaller(t, "acme", KindService)
	mustCode(t, f.answer(t, service, j, "consent", map[string]any{"consent": "yes"}), PersonRequired)
	person := f.newCaller(t, "acme", KindPerson)
	if err := f.answer(t, person, j, "consent", map[string]any{"consent": "yes"}); err != nil {
		t.Fatal(err)
	}
	f.untilState(t, j.ID, Succeeded)
	// Nor can an agent answer it in advance.
	j = f.start(t, StartRequest{Answers: map[string]any{"consent": "yes"}})
	f.untilState(t, j.ID, AwaitingInput)
}

func TestDeclineCancels(t *testing.T) {
	t.Parallel()
	for _, a := range []AnswerRequest{
		{Action: ActionDecline}, {Action: ActionCancel}, {Action: ActionAccept, Content: map[string]any{"confirm": false}},
	} {
		f := newFixture(t)
		j := f.start(t, StartRequest{Plan: "paid"})
		a.JobID, a.QuestionID = j.ID, j.Questions[0].ID
		res, err := f.Answer(t.Context(), f.caller, a)
		if err != nil {
			t.Fatal(err)
		}
		mustBe(t, "state", res.Job.State, Canceled)
	}
}

func TestQuestionExpires(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	var before atomic.Int32
	q := question("color")
	q.Expiry, q.Default = 300*time.Millisecond, map[string]any{"color": "grey"}
	asksOnce(f, &before, q)
	j := f.untilState(t, f.start(t, StartRequest{}).ID, Succeeded)
	mustBe(t, "question", j.Questions[0].State, QuestionExpired)

	q.Default = nil
	asksOnce(f, &before, q)
	j = f.untilState(t, f.start(t, StartRequest{}).ID, Failed)
	mustBe(t, "code", j.Error.Code, codeQuestionExpired)
	mustBe(t, "clean-ups", f.back.count("deprovision"), 1)
	mustCode(t, f.answerTo(t, f.caller, j.ID, j.Questions[0].ID, map[string]any{"color": "red"}), QuestionHasExpired)
}

func TestWaitingForPeopleDoesNotCountAgainstTheDeadline(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	j := f.start(t, StartRequest{Plan: "paid"})
	f.exec(t, `UPDATE job SET deadline_at = clock_timestamp() - interval '1 hour' WHERE id = $1`, j.ID)
	if err := f.answer(t, f.caller, j, "confirm_cost", map[string]any{"confirm": true}); err != nil {
		t.Fatal(err)
	}
	j, _ = f.Get(t.Context(), f.caller, j.ID)
	if left := j.DeadlineAt.Sub(j.Now); left < 59*time.Minute || left > time.Hour {
		t.Errorf("working time left: %s", left)
	}
}

// A price that changes between the question and the answer is asked again.
func TestChangedPriceIsAskedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	j := f.start(t, StartRequest{Plan: "paid"})
	dearer := *f
	dearer.Service = f.withCatalog(t, `
services:
  - id: thing
    name: Thing
    description: For tests.
    driver: scripted
    plans:
      - { id: paid, name: Paid, description: Costs., price: { amount: "6.00", currency: USD, per: month }, confirm_cost: true }
`)
	mustCode(t, dearer.answer(t, f.caller, j, "confirm_cost", map[string]any{"confirm": true}), QuoteChanged)
	j, _ = f.Get(t.Context(), f.caller, j.ID)
	mustBe(t, "questions", len(j.Questions), 2)
	mustBe(t, "old question", j.Questions[0].State, QuestionWithdrawn)
	mustBe(t, "new price", j.Questions[1].Price.Amount, "6.00")
	// Confirmed on a replica with the old catalog; the worker has the new one.
	j = f.start(t, StartRequest{Plan: "paid", Answers: map[string]any{"confirm_cost": true}})
	seg, err := dearer.claim(t.Context(), "wrk_test", ticketArgs{JobID: j.ID, Epoch: 1})
	if seg != nil || err != nil {
		t.Fatalf("claim: %v %v", seg, err)
	}
	j, _ = f.Get(t.Context(), f.caller, j.ID)
	mustBe(t, "state", j.State, AwaitingInput)
	if err := dearer.answer(t, f.caller, j, "confirm_cost", map[string]any{"confirm": true}); err != nil {
		t.Fatal(err)
	}
	dearer.run(t)
	dearer.work(t)
	dearer.untilState(t, j.ID, Succeeded)
}

// Of a thousand answers and the expiry exactly one wins, and 200 is said if and only if it is used.
func TestAThousandAnswersRaceTheExpiry(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(c *Config) { c.Sweep = 5 * time.Millisecond })
	f.run(t)
	const jobs, each = 50, 20
	var wg sync.WaitGroup
	var used, expired, other atomic.Int32
	for i := range jobs {
		j := f.start(t, StartRequest{Plan: "region", Bind: true, Answers: map[string]any{"token": "long enough"}})
		q := j.Questions[0].ID
		f.exec(t, `UPDATE question SET expires_at = clock_timestamp() + $2 * interval '1 ms' WHERE id = $1`, q, 10+i)
		f.exec(t, `UPDATE job SET due_at = clock_timestamp() + $2 * interval '1 ms' WHERE id = $1`, j.ID, 10+i)
		var wins atomic.Int32
		var racers sync.WaitGroup
		for n := range each {
			wg.Add(1)
			racers.Add(1)
			go func() {
				defer wg.Done()
				defer racers.Done()
				region := []string{"eu", "us"}[n%2]
				err := f.answerTo(t, f.caller, j.ID, q, map[string]any{"region": region})
				switch {
				case err == nil:
					wins.Add(1)
				case errors.Is(err, QuestionAlreadyAnswered):
				case errors.Is(err, QuestionHasExpired):
				default:
					other.Add(1)
					t.Errorf("answer: %v", err)
				}
			}()
		}
		wg.Go(func() {
			racers.Wait()
			f.checkRace(t, j, wins.Load() > 0, &used, &expired)
		})
	}
	wg.Wait()
	mustBe(t, "settled", used.Load()+expired.Load(), jobs)
	t.Logf("answered %d, expired %d", used.Load(), expired.Load())
}

func (f *fixture) checkRace(t *testing.T, j Job, won bool, used, expired *atomic.Int32) {
	if !won { // no answer was taken: the expiry comes, maybe a little later
		got := f.untilState(t, j.ID, Failed)
		mustBe(t, "question", got.Questions[0].State, QuestionExpired)
		expired.Add(1)
		return
	}
	got, err := f.Get(t.Context(), f.caller, j.ID)
	if err != nil {
		t.Error(err)
		return
	}
	mustBe(t, "question", got.Questions[0].State, QuestionAnswered)
	mustBe(t, "state", got.State, Pending)
	in, _ := f.GetInstance(t.Context(), f.caller, j.InstanceID)
	if in.Parameters["region"] == nil {
		t.Error("an answer that was taken is not in the parameters")
	}
	used.Add(1)
}
