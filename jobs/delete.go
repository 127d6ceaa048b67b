package jobs

import (
	"context"
	"errors"
)

// DeleteRequest asks for the end of an instance.
type DeleteRequest struct {
	InstanceID string
	// IfMatch is the ETag of the instance that the caller has seen; "" is any.
	IfMatch        string
	IdempotencyKey string // "" = none
}

// Delete starts to deprovision an instance, from any state. A job that still runs on it is canceled
// first, and the new job begins at its end. When the instance is gone, or is being deleted already,
// the result is the job that did or does it. Where an agent asks for the end of an active instance, a
// person must confirm it, unless the plan says otherwise; a call by another kind of key confirms too.
//
// Errors: NotFound, PreconditionFailed, DeletionProtected, OperationInProgress where a person would have
// to confirm it and another job works on the instance, IdempotencyKeyReused, IdempotencyInProgress.
func (s *Service) Delete(ctx context.Context, c Caller, r DeleteRequest) (Result, error) {
	same := r
	same.IdempotencyKey = ""
	return again(func() (Result, error) {
		return s.idempotent(ctx, c, r.IdempotencyKey, "delete", same, func(w *write) (Result, error) {
			return s.delete(ctx, w, c, r)
		})
	})
}

func (s *Service) delete(ctx context.Context, w *write, c Caller, r DeleteRequest) (Result, error) {
	live, in, err := s.lockInstance(ctx, w.tx, c.TenantID, r.InstanceID)
	if err != nil {
		return Result{}, err
	}
	if job, under, err := s.deletion(ctx, w, c, in, live); under || err != nil {
		return Result{Job: job, Existing: true}, err
	}
	if err := errors.Join(in.matches(r.IfMatch), in.mayBeDeleted()); err != nil {
		return Result{}, err
	}
	job, err := s.insertDeprovision(ctx, w, c, in, live)
	return Result{Job: job}, err
}

// deletion is the job that deletes the instance or has deleted it, where there is one.
func (s *Service) deletion(ctx context.Context, w *write, c Caller, in *instanceRow, live *jobRow) (Job, bool, error) {
	id := in.jobID
	switch {
	case in.state == InstanceDeleted:
	case live != nil && live.Operation == OpDeprovision:
		id = live.ID
		if err := s.confirmDestroy(ctx, w, c, live); err != nil {
			return Job{}, true, err
		}
	default:
		return Job{}, false, nil
	}
	job, err := getJob(ctx, w.tx, c.TenantID, id)
	return job, true, err
}

func (in *instanceRow) mayBeDeleted() error {
	if !in.protected {
		return nil
	}
	return &Error{
		Code: DeletionProtected, InstanceID: in.id,
		Detail: "The instance is protected against deletion; set deletion_protection to false first.",
	}
}

// insertDeprovision inserts the job that removes the instance; before is the job that must end first, if
// there is one.
func (s *Service) insertDeprovision(ctx context.Context, w *write, c Caller, in *instanceRow, before *jobRow) (Job, error) {
	j := newOperation(in, OpDeprovision)
	asks := s.mustConfirm(c, in, j)
	switch {
	case asks && before != nil:
		return Job{}, inProgress(before) // it would have to wait for two things at once
	case asks:
		j.epoch = 0 // so that the confirmation raises it to the first one
	case before != nil:
		// The new job is seen by the end of the one before, in this transaction or a later one.
		j.waitsFor, before.hasSuccessor = before.ID, true
	}
	if err := s.insertOperation(ctx, w, c, in, j); err != nil {
		return Job{}, err
	}
	if err := s.beginDeprovision(ctx, w, c, in, j, before, asks); err != nil {
		return Job{}, err
	}
	return getJob(ctx, w.tx, c.TenantID, j.ID)
}

// beginDeprovision lets the new job ask, wait for the job before it, or run.
func (s *Service) beginDeprovision(ctx context.Context, w *write, c Caller, in *instanceRow, j, before *jobRow, asks bool) error {
	if asks {
		return s.askToDestroy(ctx, w, in, j)
	}
	if err := beginDestroy(ctx, w, in.id); err != nil {
		return err
	}
	if before != nil {
		return s.supersede(ctx, w, before, c.KeyID)
	}
	w.ticket(j)
	return nil
}

// supersede ends a job in favour of the deprovision that waits for it: without a clean-up of its own,
// also when one was under way.
func (s *Service) supersede(ctx context.Context, w *write, j *jobRow, actor string) error {
	if j.ending == "" && !j.cancelRequested {
		return s.cancel(ctx, w, j, actor)
	}
	if j.phase == Running {
		return nil // its worker comes to its end
	}
	return s.settleEnding(ctx, w, j, actor)
}
