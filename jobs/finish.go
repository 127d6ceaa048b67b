package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

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
	codeOperator        = "failed_by_operator"
	codeForgotten       = "forgotten_by_operator"
	codeCanceled        = "canceled"
)

// The steps of a job that is queued: it has not begun or goes on after an answer, or it waits for its next try.
const (
	stepQueued = "queued"
	stepRetry  = "retry"
)

// handsOff reports whether nothing may be removed after this error.
func (e *JobError) handsOff() bool {
	return e.Code == string(provider.ErrNotMine) || e.Code == string(provider.ErrNeedsOperator) || e.Code == codeForgotten
}

// fail decides that a locked job, which no worker runs, fails.
func (s *Service) fail(ctx context.Context, w *write, j *jobRow, e *JobError, actor string) error {
	j.ending, j.Error = Failed, e
	j.noteUnremoved()
	return s.settleEnding(ctx, w, j, actor)
}

// noteUnremoved lists what a job was to remove, where it fails after a worker has had it and no driver says
// what is left.
func (j *jobRow) noteUnremoved() {
	if j.Operation.removes() && !j.neverRan() {
		j.Leftovers = leftoversOf(j, nil, j.Error)
	}
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
	if j.Operation == OpDeprovision && j.State != Succeeded && neverRan {
		return restoreInstance(ctx, w, j.InstanceID)
	}
	to := instanceAfter(j)
	if err := moveInstance(ctx, w, j.InstanceID, to); err != nil {
		return err
	}
	if to == InstanceActive {
		return s.planCheck(ctx, w, j)
	}
	return clearInstance(ctx, w, j.InstanceID, to)
}

// restoreInstance makes an instance what it was before its deletion was asked for: only an active one has
// an endpoint.
func restoreInstance(ctx context.Context, w *write, instanceID string) error {
	var to InstanceState
	err := w.tx.QueryRow(ctx, `
		SELECT CASE WHEN endpoint IS NULL THEN 'failed' ELSE 'active' END
		FROM instance WHERE id = $1 AND state = 'deprovisioning'`, instanceID).Scan(&to)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // the deletion was never confirmed
	}
	if err != nil {
		return fmt.Errorf("restore instance: %w", err)
	}
	return moveInstance(ctx, w, instanceID, to)
}

// clearInstance takes from an instance that is failed or deleted what it must not have then: no
// credentials work any more, or they must not be handed out any more.
func clearInstance(ctx context.Context, w *write, instanceID string, state InstanceState) error {
	batch := &pgx.Batch{}
	batch.Queue(`
		UPDATE binding SET state = 'deleted', credentials = NULL, removing = false, updated_at = clock_timestamp()
		WHERE instance_id = $1 AND (state <> 'deleted' OR removing)`, instanceID)
	batch.Queue(`UPDATE instance SET endpoint = NULL WHERE id = $1`, instanceID)
	if state == InstanceDeleted {
		batch.Queue(`UPDATE instance SET secret_parameters = NULL, provider_state = NULL WHERE id = $1`, instanceID)
	}
	return wrap("clear instance", w.tx.SendBatch(ctx, batch).Close())
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

// releaseSuccessor lets the job that waited for this one begin, with the whole time that it was given when it was
// inserted: an operator's process, which may end this one, has no catalog to ask.
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
	next.DeadlineAt = next.Now.Add(next.DeadlineAt.Sub(next.CreatedAt))
	return s.requeue(ctx, w, next)
}

// wrap names what failed; nil stays nil.
func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
