package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/provider"
)

// settle commits what came of a segment. cause is why the driver's context was done before the driver
// returned, nil where it was not. ctx is not the driver's.
func (g *segment) settle(ctx context.Context, cause error, out outcome) error {
	if errors.Is(cause, errLostLease) || errors.Is(out.err, errLostLease) {
		return errLostLease
	}
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	return g.s.write(ctx, func(w *write) error {
		j, err := lockHeld(ctx, w.tx, g.job.ID, g.epoch)
		if err != nil {
			return err
		}
		switch {
		case j.cancelDue():
			// Even if the driver has just succeeded: the cancel was answered with 202.
			j.ending = Canceled
			return g.s.settleEnding(ctx, w, j, actorWorker)
		case g.ending != "":
			return g.settleCleanup(ctx, w, j, cause, out)
		default:
			return g.settleWork(ctx, w, j, cause, out)
		}
	})
}

// settleWork commits the outcome of the job's own work.
func (g *segment) settleWork(ctx context.Context, w *write, j *jobRow, cause error, out outcome) error {
	var asks *provider.InputRequired
	var pending *provider.Pending
	switch {
	case out.err == nil:
		return g.succeed(ctx, w, j, out)
	case errors.As(out.err, &asks):
		return g.settleQuestions(ctx, w, j, asks.Questions)
	case errors.As(out.err, &pending):
		return g.waitOnProvider(ctx, w, j, pending)
	case errors.Is(cause, errSegmentDeadline):
		return g.fail(ctx, w, j, deadlineError(j), out)
	case cause != nil:
		return g.release(ctx, w, j)
	}
	e := g.jobError(out.err)
	if !e.Retryable {
		return g.fail(ctx, w, j, e, out)
	}
	return g.retry(ctx, w, j, e)
}

// fail decides that the job fails, now that its driver does not run any more.
func (g *segment) fail(ctx context.Context, w *write, j *jobRow, e *JobError, out outcome) error {
	j.ending, j.Error = Failed, e
	if j.Operation.removes() {
		j.Leftovers = leftoversOf(j, out.found, e)
	}
	if err := markUpdate(ctx, w, j, out.err); err != nil {
		return err
	}
	return g.s.settleEnding(ctx, w, j, actorWorker)
}

// release gives a job that was cut off by a drain to another worker at once.
func (g *segment) release(ctx context.Context, w *write, j *jobRow) error {
	w.event(j, actorWorker, "job.released", nil)
	return g.s.requeue(ctx, w, j)
}

// jobError is a driver's error as its user may see it.
func (g *segment) jobError(err error) *JobError {
	var e *provider.Error
	if !errors.As(err, &e) {
		return &JobError{Code: codeProvider, Message: "The provider failed; it is tried again.", Retryable: true}
	}
	return &JobError{
		Code: clip(g.secrets.scrub(string(e.Code)), 64), Message: clip(g.secrets.scrub(e.Message), 1000), Retryable: e.Retryable,
	}
}

// retry lets the job wait for its next try, without a ticket: the sweep gives it one in time.
func (g *segment) retry(ctx context.Context, w *write, j *jobRow, e *JobError) error {
	j.attempts++
	wait := backoff(j.attempts)
	j.due(wait)
	j.Progress = Progress{
		Percent: j.Progress.Percent, Step: stepRetry,
		Message: clip(fmt.Sprintf("Try %d failed with %s: %s The next one is in about %s.", j.attempts, e.Code, e.Message, wait.Round(time.Second)), 1000),
	}
	w.event(j, actorWorker, "job.retrying", map[string]any{"code": e.Code, "attempt": j.attempts})
	j.to(queued)
	j.epoch++
	return g.s.saveJob(ctx, w, j)
}

// backoff doubles from one second to a minute, spread over half to all of it.
func backoff(attempt int) time.Duration {
	full := min(time.Second<<min(attempt-1, 10), time.Minute)
	return full/2 + rand.N(full/2+1)
}

// The bounds of a Pending's delay.
const (
	pendingFloor = 200 * time.Millisecond
	pendingCap   = 10 * time.Minute
)

// waitOnProvider lets the job wait for the back end, without a ticket: the sweep gives it one in time.
func (g *segment) waitOnProvider(ctx context.Context, w *write, j *jobRow, p *provider.Pending) error {
	j.due(min(max(p.After, pendingFloor), pendingCap))
	if p.Message != "" {
		j.Progress.Message = clip(g.secrets.scrub(p.Message), 500)
	}
	j.attempts = 0
	j.to(waiting)
	j.epoch++
	return g.s.saveJob(ctx, w, j)
}

// succeed commits what the driver has returned with the job's end.
func (g *segment) succeed(ctx context.Context, w *write, j *jobRow, out outcome) error {
	switch j.Operation {
	case OpProvision:
		endpoint, err := json.Marshal(out.endpoint)
		if err != nil {
			return fmt.Errorf("endpoint: %w", err)
		}
		if _, err := w.tx.Exec(ctx, `UPDATE instance SET endpoint = $2 WHERE id = $1`, j.InstanceID, endpoint); err != nil {
			return fmt.Errorf("save endpoint: %w", err)
		}
	case OpUpdate:
		if err := g.s.applyChange(ctx, w, j, out.endpoint); err != nil {
			return err
		}
	case OpCheck:
		if err := g.s.saveFindings(ctx, w, j, out.findings); err != nil {
			return err
		}
	case OpDeprovision, OpBind, OpRotate, OpUnbind: // nothing of the instance's
	}
	if foundBy(j.Operation, out) {
		if err := g.s.noteConfig(ctx, w, j); err != nil {
			return err
		}
	}
	if out.credentials != nil {
		if err := g.s.saveCredentials(ctx, w, j, out.credentials); err != nil {
			return err
		}
	}
	return g.s.finish(ctx, w, j, Succeeded, actorWorker)
}

// settleQuestions asks what the driver wants to know, as far as it was not answered in advance.
func (g *segment) settleQuestions(ctx context.Context, w *write, j *jobRow, questions []provider.Question) error {
	rows, err := g.newQuestions(j, questions)
	if err != nil {
		return g.fail(ctx, w, j, &JobError{Code: codeProvider, Message: err.Error()}, outcome{})
	}
	open := len(openQuestions(rows))
	if open > 0 && j.failOnAsk {
		for _, q := range openQuestions(rows) {
			q.state = QuestionWithdrawn
		}
	}
	switch {
	case open == 0:
		if err := g.s.insertQuestions(ctx, w, j, rows); err != nil {
			return err
		}
		return g.s.requeue(ctx, w, j)
	case j.failOnAsk:
		if err := g.s.insertQuestions(ctx, w, j, rows); err != nil {
			return err
		}
		return g.fail(ctx, w, j, inputRequired(), outcome{})
	default:
		return g.s.ask(ctx, w, j, rows)
	}
}

// newQuestions makes rows of a driver's questions, answered where the start call has. An error is a
// fault of the driver's.
func (g *segment) newQuestions(j *jobRow, questions []provider.Question) ([]*questionRow, error) {
	given, err := g.s.givenAnswers(j)
	if err != nil {
		return nil, err
	}
	plan := g.s.planOf(j)
	var rows []*questionRow
	for _, q := range questions {
		if _, again := g.request.Answers[q.Name]; again {
			return nil, fmt.Errorf("the provider asks %q again although it is answered", q.Name)
		}
		if err := catalog.CheckFlatSchema(q.Schema); err != nil {
			return nil, fmt.Errorf("the provider's question %q has a schema that cannot be asked", q.Name)
		}
		row := newQuestionRow(j, q, originProvider, g.s.expiryOf(plan, q))
		if value, ok := given[q.Name]; ok && (j.byPerson || !q.PersonOnly) {
			if content, errs := catalog.NormalizeAnswer(q.Schema, value); len(errs) == 0 {
				row.state, row.answer = QuestionAnswered, &givenAnswer{Action: ActionAccept, Content: content}
			}
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, errors.New("the provider asks nothing")
	}
	return rows, nil
}

// settleCleanup commits the outcome of a clean-up. It is tried until its deadline.
func (g *segment) settleCleanup(ctx context.Context, w *write, j *jobRow, cause error, out outcome) error {
	var pending *provider.Pending
	switch {
	case out.err == nil:
		return g.s.finish(ctx, w, j, j.ending, actorWorker)
	case errors.As(out.err, &pending):
		return g.waitOnProvider(ctx, w, j, pending)
	case cause != nil && !errors.Is(cause, errSegmentDeadline):
		return g.release(ctx, w, j)
	}
	e := g.jobError(out.err)
	if e.Retryable && cause == nil {
		return g.retry(ctx, w, j, e)
	}
	return g.s.giveUpCleanup(ctx, w, j, out.found, e, actorWorker)
}

// giveUpCleanup ends a job whose clean-up does not come to an end, with the list of what is left.
func (s *Service) giveUpCleanup(ctx context.Context, w *write, j *jobRow, found []provider.Object, e *JobError, actor string) error {
	j.Leftovers = leftoversOf(j, found, e)
	return s.finish(ctx, w, j, j.ending, actor)
}

// leftoversOf lists what is left. Where that is not known, it is the instance as a whole.
func leftoversOf(j *jobRow, found []provider.Object, e *JobError) []Leftover {
	switch {
	case len(found) > 0:
	case j.Operation.onBinding():
		return []Leftover{{Kind: "binding", Name: j.BindingID, Reason: e.Code + ": " + e.Message}}
	default:
		return []Leftover{{Kind: "instance", Name: j.InstanceID, Reason: e.Code + ": " + e.Message}}
	}
	left := make([]Leftover, len(found))
	for i, o := range found {
		// The error may be about another of them.
		left[i] = Leftover{Kind: o.Kind, Name: o.Name, Reason: "the removal stopped: " + e.Code + ": " + e.Message}
	}
	return left
}
