package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// sweepBatch is how many due jobs one sweep takes at the most.
const sweepBatch = 100

// ticketCheck is after what time a queued job's ticket is looked for. A worker that took it and died before
// the claim must not hold the job up for longer than one that died after it.
func (s *Service) ticketCheck() time.Duration { return s.cfg.Lease }

// sweepLoop sweeps until ctx is done. Every replica does; they share the work by SKIP LOCKED.
func (s *Service) sweepLoop(ctx context.Context) {
	for tick(ctx, s.cfg.Sweep) {
		for {
			n, err := s.sweep(ctx)
			if err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "sweep failed", "error", err)
			}
			if n < sweepBatch || err != nil {
				break
			}
		}
		if err := s.sweepLife(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "sweep failed", "error", err)
		}
	}
}

// sweep looks once at the jobs that are due, each in a transaction of its own, so that one that
// cannot be handled holds up no other. It returns how many it has looked at.
func (s *Service) sweep(ctx context.Context) (int, error) {
	if err := s.passOverTicketed(ctx); err != nil {
		return 0, err
	}
	rows, err := s.pool.Query(ctx, `
		SELECT id FROM job WHERE due_at <= clock_timestamp() ORDER BY due_at LIMIT $1`, sweepBatch)
	if err != nil {
		return 0, fmt.Errorf("find due jobs: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, fmt.Errorf("find due jobs: %w", err)
	}
	var errs []error
	for _, id := range ids {
		errs = append(errs, wrap("sweep "+id, s.sweepJob(ctx, id)))
	}
	return len(ids), errors.Join(errs...)
}

// passOverTicketed makes queued jobs with a live ticket due again later, in one statement: behind a
// long queue there are many. A ticket that a worker took a while ago without a claim is dead: its worker
// is; and if it is not, its claim finds another epoch. The tickets are found by River's GIN index on args.
func (s *Service) passOverTicketed(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `
		UPDATE job SET due_at = least(clock_timestamp() + $1::interval, deadline_at)
		WHERE id IN (
			SELECT j.id FROM job j
			WHERE j.due_at <= clock_timestamp() AND j.deadline_at > clock_timestamp()
			  AND j.phase IN ('queued', 'waiting_on_provider')
			  AND EXISTS (
				SELECT 1 FROM `+riverSchema+`.river_job t
				WHERE t.args @> jsonb_build_object('job_id', j.id, 'epoch', j.epoch)
				  AND (t.state IN ('available', 'scheduled', 'retryable', 'pending')
				       OR t.state = 'running' AND t.attempted_at > clock_timestamp() - $1::interval / 2))
			ORDER BY j.due_at LIMIT 1000 FOR UPDATE SKIP LOCKED)`, s.ticketCheck())
	return wrap("pass over ticketed jobs", err)
}

// sweepJob does for one job what time has brought: the end of its lease, a wake-up, a lost ticket, the
// expiry of a question, its deadline.
func (s *Service) sweepJob(ctx context.Context, id string) error {
	return s.write(ctx, func(w *write) error {
		j, err := lockJob(ctx, w.tx, id, `AND j.due_at <= clock_timestamp() FOR UPDATE SKIP LOCKED`)
		if errors.Is(err, NotFound) {
			return nil // another replica has it
		}
		if err != nil {
			return err
		}
		switch {
		case j.State == AwaitingInput:
			return s.expireQuestions(ctx, w, j)
		case j.phase == Running:
			return s.takeFromDead(ctx, w, j)
		case !j.DeadlineAt.After(j.Now):
			return s.deadline(ctx, w, j, actorSweeper)
		default:
			return s.reissue(ctx, w, j)
		}
	})
}

// reissue gives the job a ticket under a new epoch: its time has come, or the old ticket is lost.
func (s *Service) reissue(ctx context.Context, w *write, j *jobRow) error {
	j.epoch++
	j.due(s.ticketCheck())
	w.ticket(j)
	return s.saveJob(ctx, w, j)
}

// takeFromDead takes a job from a worker whose lease has lapsed, or that an operator has taken it from.
func (s *Service) takeFromDead(ctx context.Context, w *write, j *jobRow) error {
	taken := j.owner == actorOperator
	if !taken {
		w.event(j, actorSweeper, "job.lease_lapsed", map[string]any{"worker": j.owner, "epoch": j.epoch})
	}
	j.to(queued)
	switch {
	case taken:
		return s.settleEnding(ctx, w, j, actorOperator)
	case j.cancelDue():
		j.ending = Canceled
		return s.settleEnding(ctx, w, j, actorSweeper)
	case !j.DeadlineAt.After(j.Now):
		return s.deadline(ctx, w, j, actorSweeper)
	default:
		return s.requeue(ctx, w, j)
	}
}

// expireQuestions takes the defaults of the questions that have expired, and fails the job over one
// that has none.
func (s *Service) expireQuestions(ctx context.Context, w *write, j *jobRow) error {
	questions, err := questionsOf(ctx, w.tx, j)
	if err != nil {
		return err
	}
	for _, q := range openQuestions(questions) {
		if q.expiresAt.After(j.Now) {
			continue
		}
		w.event(j, actorSweeper, "question.expired", map[string]any{"question_id": q.id, "name": q.question.Name})
		if q.question.Default == nil {
			return s.expireJob(ctx, w, j, q)
		}
		a := givenAnswer{Action: ActionAccept, Content: q.question.Default}
		if err := s.saveAnswer(ctx, w, q, a, QuestionExpired, ""); err != nil {
			return err
		}
	}
	if len(openQuestions(questions)) == 0 {
		return s.resume(ctx, w, j)
	}
	if err := s.setAwaitingTimes(ctx, w, j); err != nil {
		return err
	}
	return s.saveJob(ctx, w, j)
}

// expireJob fails a job over a question that nobody has answered in time.
func (s *Service) expireJob(ctx context.Context, w *write, j *jobRow, q *questionRow) error {
	_, err := w.tx.Exec(ctx, `UPDATE question SET state = 'expired' WHERE id = $1`, q.id)
	if err != nil {
		return fmt.Errorf("expire question: %w", err)
	}
	return s.fail(ctx, w, j, &JobError{
		Code: codeQuestionExpired, Message: fmt.Sprintf("The question %q was not answered in time.", q.question.Name), Retryable: true,
	}, actorSweeper)
}
