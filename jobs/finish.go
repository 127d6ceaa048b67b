package jobs

import (
	"context"
	"fmt"

	"github.com/provisiond/provisiond/provider"
)

// The states of a binding.
const (
	bindingPending = "pending"
	bindingActive  = "active"
	bindingDeleted = "deleted"
)

// The codes of errors that the core gives a job.
const (
	codeDeadline        = "deadline_exceeded"
	codeQuestionExpired = "question_expired"
	codeProvider        = "provider_error"
)

// stepRetry is the step of a job that waits for its next try.
const stepRetry = "retry"

// handsOff reports whether nothing may be removed after this error.
func (e *JobError) handsOff() bool {
	return e.Code == string(provider.ErrNotMine) || e.Code == string(provider.ErrNeedsOperator)
}

// fail decides that a locked job, which no worker runs, fails.
func (s *Service) fail(ctx context.Context, w *write, j *jobRow, e *JobError, actor string) error {
	j.ending, j.Error = Failed, e
	return s.settleEnding(ctx, w, j, actor)
}

// finish puts a locked job into a final state, its instance into the one that follows from it, and
// lets the job that waits for it begin.
func (s *Service) finish(ctx context.Context, w *write, j *jobRow, as State, actor string) error {
	if as != Failed {
		j.Error = nil
	}
	neverRan := j.neverRan()
	j.to(ended(as))
	j.ending, j.waitsFor, j.dueAt = "", "", nil
	j.Progress = finalProgress(as)
	if err := s.saveJob(ctx, w, j); err != nil {
		return err
	}
	data := map[string]any{}
	if j.Error != nil {
		data["code"] = j.Error.Code
	}
	if len(j.Leftovers) > 0 {
		data["leftovers"] = j.Leftovers
	}
	w.event(j, actor, "job."+string(as), data)
	if err := s.recordOrphans(ctx, w, j, neverRan); err != nil {
		return err
	}
	if err := s.finishInstance(ctx, w, j, neverRan); err != nil {
		return err
	}
	return s.releaseSuccessor(ctx, w, j)
}

func finalProgress(as State) Progress {
	p := Progress{Step: string(as)}
	switch as {
	case Succeeded:
		all := 100
		p.Percent, p.Message = &all, "Done."
	case Failed:
		p.Message = "Failed; see error."
	default:
		p.Message = "Canceled."
	}
	return p
}

// finishInstance moves the instance where the end of the job leads it. neverRan is about a
// deprovision that ended before a worker had it.
func (s *Service) finishInstance(ctx context.Context, w *write, j *jobRow, neverRan bool) error {
	if err := finishBinding(ctx, w, j, neverRan); err != nil {
		return err
	}
	if j.hasSuccessor {
		return nil // a deprovision is under way
	}
	if j.Operation != OpProvision && j.Operation != OpDeprovision {
		return nil // what a success changes in the instance is written with it
	}
	to := instanceAfter(j)
	if j.Operation == OpDeprovision && j.State != Succeeded && neverRan {
		// As it was before: only an active instance has an endpoint.
		_, err := w.tx.Exec(ctx, `
			UPDATE instance SET state = CASE WHEN endpoint IS NULL THEN 'failed' ELSE 'active' END, updated_at = clock_timestamp()
			WHERE id = $1 AND state = 'deprovisioning'`, j.InstanceID)
		return wrap("restore instance", err)
	}
	if _, err := w.tx.Exec(ctx, `UPDATE instance SET state = $2, updated_at = clock_timestamp() WHERE id = $1`, j.InstanceID, to); err != nil {
		return fmt.Errorf("finish instance: %w", err)
	}
	if to == InstanceActive {
		return s.planCheck(ctx, w, j)
	}
	// No credentials work any more, or they must not be handed out any more.
	_, err := w.tx.Exec(ctx, `
		UPDATE binding SET state = 'deleted', credentials = NULL, removing = false, updated_at = clock_timestamp()
		WHERE instance_id = $1 AND (state <> 'deleted' OR removing)`, j.InstanceID)
	if err != nil || to != InstanceDeleted {
		return wrap("delete bindings", err)
	}
	_, err = w.tx.Exec(ctx, `
		UPDATE instance SET secret_parameters = NULL, provider_state = NULL, endpoint = NULL WHERE id = $1`, j.InstanceID)
	return wrap("forget secrets", err)
}

func instanceAfter(j *jobRow) InstanceState {
	switch {
	case j.Operation == OpProvision && j.State == Succeeded:
		return InstanceActive
	case j.Operation == OpDeprovision && j.State == Succeeded:
		return InstanceDeleted
	case j.Operation == OpProvision && j.State == Canceled && len(j.Leftovers) == 0:
		return InstanceDeleted
	default:
		return InstanceFailed
	}
}

// releaseSuccessor lets the job that waited for this one begin.
func (s *Service) releaseSuccessor(ctx context.Context, w *write, j *jobRow) error {
	if !j.hasSuccessor {
		return nil
	}
	var id string
	err := w.tx.QueryRow(ctx, `SELECT id FROM job WHERE waits_for = $1`, j.ID).Scan(&id)
	if err != nil {
		return fmt.Errorf("find successor: %w", err)
	}
	next, err := lockJob(ctx, w.tx, id, `FOR UPDATE`)
	if err != nil {
		return err
	}
	if next.State.Final() {
		return nil // canceled in the meantime
	}
	next.waitsFor = ""
	next.DeadlineAt = next.Now.Add(s.deadlineOf(s.planOf(next)))
	return s.requeue(ctx, w, next)
}

// wrap names what failed; nil stays nil.
func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
