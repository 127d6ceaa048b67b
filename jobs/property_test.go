package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/provisiond/provisiond/provider"
)

// Random sequences of everything that can happen to jobs never leave a final state, never run two
// driver calls on one instance, never go back in version, and always come to an end.
func TestRandomEventsKeepTheInvariants(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{f: f, t: t, seen: map[string]Job{}}
		rt.Repeat(map[string]func(*rapid.T){
			"start":   m.start,
			"claim":   m.claim,
			"settle":  m.settle,
			"late":    m.late,
			"answer":  m.answer,
			"cancel":  m.cancel,
			"delete":  m.delete,
			"expire":  m.expire,
			"update":  m.update,
			"bind":    m.bind,
			"rotate":  m.rotate,
			"unbind":  m.unbind,
			"verify":  m.verify,
			"end":     m.end,
			"lapse":   m.lapse,
			"time":    m.time,
			"operate": m.operate,
			"":        m.check,
		})
		m.drain(rt)
	})
}

// machine plays the requests, the workers and the clock.
type machine struct {
	f         *fixture
	t         *testing.T
	jobs      []string
	instances []string
	segments  []*segment // claimed and not settled
	past      []*segment // settled or lapsed: what they try is refused
	seen      map[string]Job
}

func (m *machine) ctx() context.Context { return m.t.Context() }

// allow passes the errors that are right answers to an event that comes at the wrong time.
func (m *machine) allow(rt *rapid.T, err error, codes ...Code) {
	if err == nil {
		return
	}
	for _, c := range codes {
		if errors.Is(err, c) {
			return
		}
	}
	rt.Fatalf("unexpected: %v", err)
}

func (m *machine) pick(rt *rapid.T, of []string) string {
	if len(of) == 0 {
		rt.Skip("nothing there")
	}
	return rapid.SampledFrom(of).Draw(rt, "which")
}

func (m *machine) start(rt *rapid.T) {
	if len(m.jobs) > 4 {
		rt.Skip("enough")
	}
	r := StartRequest{
		Service: "thing", Plan: rapid.SampledFrom([]string{"plain", "region", "paid"}).Draw(rt, "plan"),
		FailOnQuestion: rapid.IntRange(0, 9).Draw(rt, "fail") == 0, Bind: rapid.Bool().Draw(rt, "bind"),
	}
	res, err := m.f.Start(m.ctx(), m.f.caller, r)
	m.allow(rt, err)
	m.jobs = append(m.jobs, res.Job.ID)
	m.instances = append(m.instances, res.Job.InstanceID)
}

func (m *machine) claim(rt *rapid.T) {
	id := m.pick(rt, m.jobs)
	seg, err := m.f.claim(m.ctx(), "wrk_test", ticketArgs{JobID: id, Epoch: m.f.epochOf(m.t, id)})
	m.allow(rt, err)
	if seg == nil {
		return
	}
	for _, other := range m.segments {
		if other.job.InstanceID == seg.job.InstanceID {
			rt.Fatalf("two segments on one instance")
		}
	}
	m.segments = append(m.segments, seg)
}

func outcomes() map[string]outcome {
	return map[string]outcome{
		"done":      {endpoint: provider.Endpoint{"host": "x"}},
		"pending":   {err: &provider.Pending{After: time.Second}},
		"asks":      {err: &provider.InputRequired{Questions: []provider.Question{question("color")}}},
		"retryable": {err: &provider.Error{Code: "busy", Message: "Busy.", Retryable: true}},
		"permanent": {err: &provider.Error{Code: "no", Message: "No."}},
		"not mine":  {err: &provider.Error{Code: provider.ErrNotMine, Message: "Not mine."}},
		"unknown":   {err: errors.New("unknown")},
		"drained":   {err: context.Canceled},
	}
}

func (m *machine) settle(rt *rapid.T) {
	if len(m.segments) == 0 {
		rt.Skip("nothing runs")
	}
	i := rapid.IntRange(0, len(m.segments)-1).Draw(rt, "segment")
	name := rapid.SampledFrom([]string{"done", "done", "pending", "asks", "retryable", "permanent", "not mine", "unknown", "drained"}).Draw(rt, "outcome")
	m.settleWith(rt, i, name)
}

func (m *machine) settleWith(rt *rapid.T, i int, name string) {
	seg := m.segments[i]
	m.segments = append(m.segments[:i:i], m.segments[i+1:]...)
	m.past = append(m.past, seg)
	if m.lost(rt, seg) {
		return
	}
	out := outcomes()[name]
	if name == "done" && seg.job.BindingID != "" && seg.ending == "" && seg.job.Operation != OpUnbind {
		out.credentials = provider.Credentials{"password": "x"}
	}
	var cause error
	if name == "drained" {
		cause = context.Canceled
	}
	if err := seg.settle(m.ctx(), cause, out); err != nil {
		rt.Fatalf("settle %s: %v", name, err)
	}
}

// late is what a worker tries that no longer holds its job.
func (m *machine) late(rt *rapid.T) {
	if len(m.past) == 0 {
		rt.Skip("none")
	}
	seg := rapid.SampledFrom(m.past).Draw(rt, "segment")
	if err := seg.settle(m.ctx(), nil, outcome{}); !errors.Is(err, errLostLease) {
		rt.Fatalf("a stale settle: %v", err)
	}
	if err := seg.checkpoint(m.ctx(), nil); !errors.Is(err, errLostLease) {
		rt.Fatalf("a stale checkpoint: %v", err)
	}
}

func (m *machine) answer(rt *rapid.T) {
	j, err := m.f.Get(m.ctx(), m.f.caller, m.pick(rt, m.jobs))
	m.allow(rt, err)
	if len(j.Questions) == 0 {
		rt.Skip("no question")
	}
	q := rapid.SampledFrom(j.Questions).Draw(rt, "question")
	r := AnswerRequest{JobID: j.ID, QuestionID: q.ID, Action: rapid.SampledFrom([]string{"accept", "accept", "accept", "decline"}).Draw(rt, "action")}
	if r.Action == ActionAccept {
		r.Content = goodAnswer(q)
	}
	_, err = m.f.Answer(m.ctx(), m.f.caller, r)
	if q.State == QuestionOpen {
		m.allow(rt, err)
	}
	m.allow(rt, err, QuestionAlreadyAnswered, QuestionHasExpired, QuestionWasWithdrawn)
}

func goodAnswer(q Question) map[string]any {
	return map[string]map[string]any{
		"region": {"region": "eu"}, "token": {"token": "long enough"}, "confirm_cost": {"confirm": true}, "color": {"color": "red"},
	}[q.Name]
}

func (m *machine) cancel(rt *rapid.T) {
	_, err := m.f.Cancel(m.ctx(), m.f.caller, m.pick(rt, m.jobs), "")
	m.allow(rt, err, JobFinished)
}

func (m *machine) delete(rt *rapid.T) {
	res, err := m.f.Delete(m.ctx(), m.f.caller, DeleteRequest{InstanceID: m.pick(rt, m.instances)})
	m.allow(rt, err)
	if !res.Existing {
		m.jobs = append(m.jobs, res.Job.ID)
	}
}

// busy are the right answers to an operation that comes at the wrong time.
var busy = []Code{OperationInProgress, InstanceNotActive, NotReady, BindingDeleted, BindingRotated}

func (m *machine) begun(rt *rapid.T, r Result, err error) {
	m.allow(rt, err, busy...)
	if err == nil && !r.Existing && r.Job.ID != "" {
		m.jobs = append(m.jobs, r.Job.ID)
	}
}

func (m *machine) update(rt *rapid.T) {
	r := UpdateRequest{InstanceID: m.pick(rt, m.instances)}
	in := m.f.instance(m.t, r.InstanceID)
	switch {
	case in.Plan == "plain" && rapid.Bool().Draw(rt, "to paid"):
		r.Plan = "paid"
	default:
		r.Labels = map[string]string{"n": "1"}
	}
	res, err := m.f.Update(m.ctx(), m.f.caller, r)
	m.allow(rt, err, append(busy, UpdateNotRepeatable)...)
	if err == nil && res.Job != nil {
		m.jobs = append(m.jobs, res.Job.ID)
	}
}

func (m *machine) bind(rt *rapid.T) {
	r, err := m.f.Bind(m.ctx(), m.f.caller, BindRequest{InstanceID: m.pick(rt, m.instances)})
	m.begun(rt, r, err)
}

func (m *machine) binding(rt *rapid.T) string {
	page, err := m.f.ListBindings(m.ctx(), m.f.caller, m.pick(rt, m.instances), PageRequest{})
	m.allow(rt, err)
	if len(page.Items) == 0 {
		rt.Skip("no binding")
	}
	return rapid.SampledFrom(page.Items).Draw(rt, "binding").ID
}

func (m *machine) rotate(rt *rapid.T) {
	overlap := time.Duration(0)
	r, err := m.f.Rotate(m.ctx(), m.f.caller, RotateRequest{BindingID: m.binding(rt), Overlap: &overlap})
	m.begun(rt, r, err)
}

func (m *machine) unbind(rt *rapid.T) {
	r, err := m.f.Unbind(m.ctx(), m.f.caller, m.binding(rt), "")
	m.begun(rt, r, err)
}

func (m *machine) verify(rt *rapid.T) {
	r, err := m.f.Check(m.ctx(), m.f.caller, CheckRequest{InstanceID: m.pick(rt, m.instances)})
	m.begun(rt, r, err)
}

// end lets an instance's time be up.
func (m *machine) end(rt *rapid.T) {
	id := m.pick(rt, m.instances)
	m.f.exec(m.t, `UPDATE instance SET expires_at = clock_timestamp() WHERE id = $1`, id)
	m.life(rt)
}

// life lets the sweep see to instances and bindings, and follows the jobs that it starts.
func (m *machine) life(rt *rapid.T) {
	m.f.exec(m.t, `UPDATE orphan SET retry_at = NULL`) // they would go on for ever: outcomes are drawn at random
	if err := m.f.sweepLife(m.ctx()); err != nil {
		rt.Fatalf("sweep: %v", err)
	}
	for _, id := range m.instances {
		page, err := m.f.ListJobs(m.ctx(), m.f.caller, JobFilter{InstanceID: id}, PageRequest{})
		m.allow(rt, err)
		for _, j := range page.Items {
			if !slices.Contains(m.jobs, j.ID) {
				m.jobs = append(m.jobs, j.ID)
			}
		}
	}
}

func (m *machine) expire(rt *rapid.T) {
	id := m.pick(rt, m.jobs)
	m.f.exec(m.t, `UPDATE question SET expires_at = clock_timestamp() - interval '1 s' WHERE job_id = $1`, id)
	m.f.exec(m.t, `UPDATE job SET due_at = clock_timestamp() - interval '1 s' WHERE id = $1 AND state = 'awaiting_input'`, id)
	m.f.sweepNow(m.t)
}

func (m *machine) lapse(rt *rapid.T) {
	if len(m.segments) == 0 {
		rt.Skip("nothing runs")
	}
	seg := m.segments[0]
	m.segments, m.past = m.segments[1:], append(m.past, seg)
	m.f.lapse(m.t, seg.job.ID)
	m.f.sweepNow(m.t)
}

// time lets the time of all that waits come.
func (m *machine) time(rt *rapid.T) {
	m.lapseTaken(rt)
	m.f.exec(m.t, `UPDATE job SET due_at = clock_timestamp() - interval '1 s' WHERE phase IN ('queued', 'waiting_on_provider') AND due_at IS NOT NULL`)
	m.f.sweepNow(m.t)
}

// check holds after every event.
func (m *machine) check(rt *rapid.T) {
	for _, id := range m.jobs {
		j, err := m.f.Get(m.ctx(), m.f.caller, id)
		m.allow(rt, err)
		before, known := m.seen[id]
		if known && before.State.Final() && (j.State != before.State || j.Version != before.Version) {
			rt.Fatalf("job left its final state: %s, then %s", show(before), show(j))
		}
		if j.Version < before.Version {
			rt.Fatalf("version went back")
		}
		if j.State == AwaitingInput && !anyOpen(j) {
			rt.Fatalf("awaits input without an open question: %s", show(j))
		}
		if j.State != AwaitingInput && anyOpen(j) {
			rt.Fatalf("an open question that nothing awaits: %s", show(j))
		}
		if !j.State.Final() && j.DeadlineAt.IsZero() {
			rt.Fatalf("no deadline: %s", show(j))
		}
		m.seen[id] = j
	}
	m.checkBindings(rt)
}

// checkBindings: only an active instance has credentials, and what is pending has a job that is not done.
func (m *machine) checkBindings(rt *rapid.T) {
	for _, id := range m.instances {
		in := m.f.instance(m.t, id)
		page, err := m.f.ListBindings(m.ctx(), m.f.caller, id, PageRequest{})
		m.allow(rt, err)
		for _, b := range page.Items {
			if b.State == BindingActive && in.State != InstanceActive && in.State != InstanceDeprovisioning {
				rt.Fatalf("credentials of an instance that is %s: %+v", in.State, b)
			}
			if b.State == BindingPending && m.seen[b.JobID].State.Final() {
				rt.Fatalf("a binding that nobody makes: %+v", b)
			}
		}
	}
}

func anyOpen(j Job) bool {
	for _, q := range j.Questions {
		if q.State == QuestionOpen {
			return true
		}
	}
	return false
}

// drain lets every job come to its end.
func (m *machine) drain(rt *rapid.T) {
	for round := 0; ; round++ {
		if round > 100 {
			rt.Fatalf("jobs that do not end: %v", m.live(rt))
		}
		live := m.live(rt)
		if len(live) == 0 {
			return
		}
		for len(m.segments) > 0 {
			m.settleWith(rt, 0, "done")
		}
		for _, j := range live {
			for _, q := range j.Questions {
				if q.State == QuestionOpen {
					_ = m.f.answerTo(m.t, m.f.caller, j.ID, q.ID, goodAnswer(q))
				}
			}
		}
		m.time(rt)
		for _, j := range m.live(rt) {
			seg, err := m.f.claim(m.ctx(), "wrk_test", ticketArgs{JobID: j.ID, Epoch: m.f.epochOf(m.t, j.ID)})
			m.allow(rt, err)
			if seg != nil {
				m.segments = append(m.segments, seg)
			}
		}
	}
}

func (m *machine) live(rt *rapid.T) []Job {
	var live []Job
	for _, id := range m.jobs {
		j, err := m.f.Get(m.ctx(), m.f.caller, id)
		m.allow(rt, err)
		if !j.State.Final() {
			live = append(live, j)
		}
	}
	return live
}

// Every status of the state machine is one that the database takes, and the other way round.
func TestStateMachineAndDatabaseAgree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	j := f.start(t, StartRequest{})
	states := []State{Pending, AwaitingInput, Succeeded, Failed, Canceled}
	phases := []Phase{"", Queued, Running, WaitingOnProvider}
	for _, s := range states {
		for _, p := range phases {
			known := status{s, p} == queued || reachable(status{s, p})
			err := f.tryStatus(t, j.ID, s, p)
			if known != (err == nil) {
				t.Errorf("%s %s: known to the machine %v, database says %v", s, p, known, err)
			}
		}
	}
}

func reachable(s status) bool {
	for _, next := range transitions {
		if slices.Contains(next, s) {
			return true
		}
	}
	return false
}

// tryStatus writes the status with the columns that go with it, and rolls back.
func (f *fixture) tryStatus(t *testing.T, jobID string, s State, p Phase) error {
	t.Helper()
	tx, err := f.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rollback(t.Context(), tx)
	var jobErr any
	if s == Failed {
		jobErr = json.RawMessage(`{}`)
	}
	set := fmt.Sprintf(`UPDATE job SET state = $2, phase = nullif($3, ''), error = $4,
		owner = CASE WHEN $3 = 'running' THEN 'x' END, lease_until = CASE WHEN $3 = 'running' THEN now() END,
		work_left = CASE WHEN $2 = 'awaiting_input' THEN interval '1 h' END,
		due_at = CASE WHEN %[1]s THEN NULL ELSE now() END, finished_at = CASE WHEN %[1]s THEN now() END WHERE id = $1`,
		`$2 IN ('succeeded', 'failed', 'canceled')`)
	_, err = tx.Exec(t.Context(), set, jobID, s, p, jobErr)
	return err
}
