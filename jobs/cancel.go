package jobs

import "context"

// Cancel asks a job to end as Canceled, once what it made is cleaned up. It is durable: whichever
// worker has the job next obeys it. A job that is canceled or is ending already is no error.
//
// Errors: NotFound, JobFinished, IdempotencyKeyReused, IdempotencyInProgress.
func (s *Service) Cancel(ctx context.Context, c Caller, jobID, idempotencyKey string) (Result, error) {
	return s.idempotent(ctx, c, idempotencyKey, "cancel", jobID, func(w *write) (Result, error) {
		j, err := lockOwn(ctx, w.tx, c.TenantID, jobID)
		if err != nil {
			return Result{}, err
		}
		if j.State == Succeeded || j.State == Failed {
			return Result{}, &Error{Code: JobFinished, JobID: j.ID, Detail: "The job has finished as " + string(j.State) + "."}
		}
		if j.State != Canceled {
			if err := s.cancel(ctx, w, j, c.KeyID); err != nil {
				return Result{}, err
			}
		}
		job, err := getJob(ctx, w.tx, c.TenantID, j.ID)
		return Result{Job: job}, err
	})
}

// cancel begins the end of a locked job that is not final.
//
// A running job is left to its worker, which sees the request at once and stops its driver: two driver
// calls never run on one instance. If the worker is dead, its lease lapses.
func (s *Service) cancel(ctx context.Context, w *write, j *jobRow, actor string) error {
	if j.cancelRequested || j.ending != "" {
		return nil
	}
	j.cancelRequested = true
	w.event(j, actor, "job.cancel_requested", nil)
	if j.phase == Running {
		return s.saveJob(ctx, w, j)
	}
	j.ending = Canceled
	return s.settleEnding(ctx, w, j, actor)
}

// cancelDue reports whether the job is to begin its end as Canceled.
func (j *jobRow) cancelDue() bool { return j.cancelRequested && j.ending == "" }

// settleEnding ends a locked job that no worker runs, after a clean-up where one is needed.
func (s *Service) settleEnding(ctx context.Context, w *write, j *jobRow, actor string) error {
	if err := closeQuestions(ctx, w, j.ID, QuestionWithdrawn); err != nil {
		return err
	}
	if j.ending == Canceled && j.Operation == OpDeprovision && !j.neverRan() {
		j.Leftovers = leftoversOf(j, nil, &JobError{Code: codeCanceled, Message: "The deletion was canceled before its end; delete the instance again."})
	}
	if !j.needsCleanup() {
		return s.finish(ctx, w, j, j.ending, actor)
	}
	j.attempts = 0
	j.DeadlineAt = j.Now.Add(s.cfg.CleanupDeadline)
	j.Progress = Progress{Step: "clean_up", Message: "Removes what was made."}
	w.event(j, actor, "job.cleaning_up", map[string]any{"ending": j.ending})
	return s.requeue(ctx, w, j)
}

// needsCleanup: a job that may have made something, unless nobody can tell whose that is, or a
// deprovision waits to do it.
func (j *jobRow) needsCleanup() bool {
	if j.hasSuccessor || j.Error != nil && j.Error.handsOff() {
		return false
	}
	switch j.Operation {
	case OpProvision:
		return j.touched
	case OpBind, OpRotate:
		return !j.neverRan()
	case OpUpdate, OpDeprovision, OpUnbind, OpCheck:
	}
	return false
}

// declineJob closes the question with a no, and cancels the job.
func (s *Service) declineJob(ctx context.Context, w *write, c Caller, j *jobRow, q *questionRow, a givenAnswer) error {
	if err := s.saveAnswer(ctx, w, q, a, QuestionAnswered, c.KeyID); err != nil {
		return err
	}
	w.event(j, c.KeyID, "question.declined", map[string]any{"question_id": q.id, "name": q.question.Name, "action": a.Action})
	return s.cancel(ctx, w, j, c.KeyID)
}
