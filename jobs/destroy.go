package jobs

import (
	"context"
	"fmt"
)

// mustConfirm reports whether a person must confirm the deletion: an agent wants an instance deleted
// that holds data. One that is not active never held any, or its deletion was confirmed before.
func (s *Service) mustConfirm(c Caller, in *instanceRow, j *jobRow) bool {
	if c.Kind != KindAgent || in.state != InstanceActive {
		return false
	}
	plan := s.planOf(j)
	return plan == nil || !plan.DestroyUnasked
}

// askToDestroy makes the job wait for a person, with the instance as it is. j was inserted in this
// transaction.
func (s *Service) askToDestroy(ctx context.Context, w *write, in *instanceRow, j *jobRow) error {
	j, err := lockJob(ctx, w.tx, j.ID, `FOR UPDATE`)
	if err != nil {
		return err
	}
	plan := s.planOf(j)
	question := plan.DestroyQuestion(in.title())
	return s.ask(ctx, w, j, []*questionRow{newQuestionRow(j, question, originDestroy, s.expiryOf(plan, question))})
}

// beginDestroy marks the instance once its deletion is certain. A failed one has given its name up, and
// another may have it by now.
func beginDestroy(ctx context.Context, w *write, instanceID string) error {
	_, err := w.tx.Exec(ctx, `
		UPDATE instance i SET name = NULL
		WHERE i.id = $1 AND i.state = 'failed' AND EXISTS (
			SELECT 1 FROM instance o WHERE o.tenant_id = i.tenant_id AND o.name = i.name AND o.state NOT IN ('deleted', 'failed'))`, instanceID)
	if err != nil {
		return fmt.Errorf("give up name: %w", err)
	}
	return moveInstance(ctx, w, instanceID, InstanceDeprovisioning)
}

// confirmDestroy lets a deprovision that waits for a confirmation begin, where the caller may delete
// without one: their own call says yes.
func (s *Service) confirmDestroy(ctx context.Context, w *write, c Caller, j *jobRow) error {
	if c.Kind == KindAgent || j.State != AwaitingInput {
		return nil
	}
	questions, err := questionsOf(ctx, w.tx, j)
	if err != nil {
		return err
	}
	open := openQuestions(questions)
	for _, q := range open {
		if q.origin == originDestroy {
			yes := givenAnswer{Action: ActionAccept, Content: map[string]any{"confirm": true}}
			return s.acceptAnswer(ctx, w, c, j, q, yes, len(open) == 1)
		}
	}
	return nil
}
