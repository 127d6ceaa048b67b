package jobs

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// parallel calls fn n times at once and returns the results in no order.
func parallel[T any](n int, fn func(i int) T) []T {
	out := make([]T, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { out[i] = fn(i) })
	}
	wg.Wait()
	return out
}

// The same start a hundred times at once over two replicas makes one job.
func TestAHundredEqualStartsMakeOneJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	replicas := []*Service{f.Service, f.withCatalog(t, testCatalog)}
	for name, r := range map[string]StartRequest{
		"by idempotency key": {Service: "thing", Plan: "plain", IdempotencyKey: "k1"},
		"by name":            {Service: "thing", Plan: "plain", Name: "orders"},
		"by both":            {Service: "thing", Plan: "plain", Name: "both", IdempotencyKey: "k2"},
	} {
		t.Run(name, func(t *testing.T) {
			ids := parallel(100, func(i int) string {
				for {
					res, err := replicas[i%2].Start(t.Context(), f.caller, r)
					if errors.Is(err, IdempotencyInProgress) {
						continue // as a client is told to
					}
					if err != nil {
						t.Errorf("start: %v", err)
					}
					return res.Job.ID
				}
			})
			for _, id := range ids {
				mustBe(t, "job", id, ids[0])
			}
		})
	}
	page, err := f.ListJobs(t.Context(), f.caller, JobFilter{}, PageRequest{})
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "jobs", len(page.Items), 3)
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := StartRequest{Service: "thing", Plan: "region", IdempotencyKey: "k", Parameters: map[string]any{"token": "secret-token"}}
	first, err := f.Start(t.Context(), f.caller, r)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.answer(t, f.caller, first.Job, "region", map[string]any{"region": "eu"}); err != nil {
		t.Fatal(err)
	}
	again, err := f.Start(t.Context(), f.caller, r)
	if err != nil {
		t.Fatal(err)
	}
	first.Replayed = true
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the first answer again (-first +again):\n%s", diff)
	}
	r.Parameters = map[string]any{"token": "other-token"}
	_, err = f.Start(t.Context(), f.caller, r)
	mustCode(t, err, IdempotencyKeyReused)
	_, err = f.Cancel(t.Context(), f.caller, first.Job.ID, "k")
	mustCode(t, err, IdempotencyKeyReused)

	// Another tenant's key is another key; an old one is forgotten.
	r.Parameters = nil
	if _, err := f.Start(t.Context(), f.newCaller(t, "other", KindAgent), r); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	f.exec(t, `UPDATE idempotency SET created_at = created_at - interval '25 hours'`)
	res, err := f.Start(t.Context(), f.caller, r)
	if err != nil || res.Replayed {
		t.Errorf("after a day: %+v %v", res, err)
	}
}

// A start that is refused leaves its key free.
func TestARefusedStartKeepsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, r := range []StartRequest{
		{Service: "nothing", Plan: "plain"},
		{Service: "thing", Plan: "nothing"},
		{Service: "thing", Plan: "plain", Parameters: map[string]any{"unknown": 1.0}},
		{Service: "thing", Plan: "region", Parameters: map[string]any{"region": "mars"}},
	} {
		r.IdempotencyKey = "k"
		if _, err := f.Start(t.Context(), f.caller, r); err == nil {
			t.Errorf("%+v was taken", r)
		}
	}
	for _, table := range []string{"instance", "job", "binding", "question", "idempotency"} {
		var n int
		if err := f.pool.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		mustBe(t, "rows in "+table, n, 0)
	}
}

func TestSameName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	j := f.start(t, StartRequest{Name: "orders"})
	res, err := f.Start(t.Context(), f.caller, StartRequest{Service: "thing", Plan: "plain", Name: "orders"})
	if err != nil || !res.Existing || res.Job.ID != j.ID {
		t.Fatalf("an equal start: %+v %v", res, err)
	}
	_, err = f.Start(t.Context(), f.caller, StartRequest{Service: "thing", Plan: "paid", Name: "orders"})
	mustCode(t, err, NameTaken)
	var e *Error
	if errors.As(err, &e); e.JobID != j.ID || e.InstanceID != j.InstanceID {
		t.Errorf("the error does not name what has the name: %+v", e)
	}
	if _, err := f.Start(t.Context(), f.newCaller(t, "other", KindAgent), StartRequest{Service: "thing", Plan: "plain", Name: "orders"}); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	f.untilState(t, j.ID, Succeeded)
	del, err := f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID})
	if err != nil {
		t.Fatal(err)
	}
	f.untilState(t, del.Job.ID, Succeeded)
	if again := f.start(t, StartRequest{Name: "orders"}); again.ID == j.ID {
		t.Error("the name of a deleted instance is not free")
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p, err := f.Preflight(t.Context(), f.caller, StartRequest{Service: "thing", Plan: "region", Parameters: map[string]any{"size": 0.0}})
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "blockers", len(p.Blockers), 1)
	mustBe(t, "pointer", p.Blockers[0].Pointer, "/parameters/size")
	mustBe(t, "questions", len(p.Questions), 2)
	f.start(t, StartRequest{Name: "taken"})
	if p, _ = f.Preflight(t.Context(), f.caller, StartRequest{Service: "thing", Plan: "paid", Name: "taken"}); len(p.Blockers) != 1 || p.Price.Amount != "5.00" {
		t.Errorf("got %+v", p)
	}
	page, _ := f.ListJobs(t.Context(), f.caller, JobFilter{}, PageRequest{})
	mustBe(t, "jobs", len(page.Items), 1)
}

// What on_question "fail" lacks says how to give it: a secret is not for the agent that starts.
func TestPreflightSaysWhoGivesASecret(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p, err := f.Preflight(t.Context(), f.caller, StartRequest{Service: "thing", Plan: "region", FailOnQuestion: true})
	if err != nil {
		t.Fatal(err)
	}
	details := map[string]string{}
	for _, b := range p.Blockers {
		details[b.Pointer] = b.Detail
	}
	mustBe(t, "blockers", len(details), 2)
	mustBe(t, "of the region", details["/answers/region"], `is needed where on_question is "fail"`)
	if got := details["/answers/token"]; !strings.Contains(got, "secret") || !strings.Contains(got, "page") {
		t.Errorf("of the token: %s", got)
	}
}

// A job can be read on the other replica as soon as its start has answered.
func TestReadYourStartOnTheOtherReplica(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := f.withCatalog(t, testCatalog)
	for range 200 {
		j := f.start(t, StartRequest{})
		if _, err := other.Get(t.Context(), f.caller, j.ID); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPollAfterGrowsWithAge(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		state State
		age   time.Duration
		want  time.Duration
	}{
		{Pending, 0, 500 * time.Millisecond},
		{Pending, 20 * time.Second, 2 * time.Second},
		{Pending, time.Hour, 10 * time.Second},
		{AwaitingInput, time.Hour, 2 * time.Second},
		{Succeeded, time.Hour, 0},
		{Failed, 0, 0},
		{Canceled, 0, 0},
	} {
		j := Job{State: tt.state, CreatedAt: created, Now: created.Add(tt.age)}
		mustBe(t, string(tt.state), j.PollAfter(), tt.want)
	}
}
