package jobs

import (
	"context"
	"encoding/json"
	"fmt"
)

// mustConfirm reports whether a person must confirm the deletion: an agent wants an instance deleted
// that holds data. One that is not active never held any, or its deletion was confirmed before.
func (s *Service) mustConfirm(c Caller, in *instanceRow, j, before *jobRow) bool {
	if c.Kind != KindAgent || in.state != InstanceActive || before != nil {
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

// title is the instance as people know it.
func (in *instanceRow) title() string {
	if in.name != "" {
		return fmt.Sprintf("%q", in.name)
	}
	return in.id
}

// beginDestroy marks the instance once its deletion is certain. A failed one has given its name up, and
// another may have it by now.
func beginDestroy(ctx context.Context, w *write, instanceID string) error {
	_, err := w.tx.Exec(ctx, `
		UPDATE instance i SET state = 'deprovisioning', updated_at = clock_timestamp(),
		       name = CASE WHEN i.state <> 'failed' OR NOT EXISTS (
		           SELECT 1 FROM instance o WHERE o.tenant_id = i.tenant_id AND o.name = i.name AND o.state NOT IN ('deleted', 'failed'))
		       THEN i.name END
		WHERE i.id = $1`, instanceID)
	return wrap("deprovision instance", err)
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

// insertDeprovisionJob inserts the job row, with its times by the database's clock.
func (s *Service) insertDeprovisionJob(ctx context.Context, w *write, c Caller, in *instanceRow, j *jobRow) error {
	progress, err := json.Marshal(j.Progress)
	if err != nil {
		return fmt.Errorf("progress: %w", err)
	}
	deadline := s.deadlineOf(s.planOf(j))
	_, err = w.tx.Exec(ctx, `
		INSERT INTO job (id, tenant_id, instance_id, operation, service, plan, driver, state, phase, epoch, waits_for,
		                 due_at, deadline_at, on_question, progress, labels, created_by, by_person)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 'pending', 'queued', $8, nullif($9, ''),
		        CASE WHEN $9 = '' THEN clock_timestamp() + $10::interval END, clock_timestamp() + $11::interval,
		        'ask', $12, $13, $14, $15)`,
		j.ID, j.tenantID, j.InstanceID, j.Operation, j.Service, j.Plan, j.driver, j.epoch, j.waitsFor,
		min(deadline, s.ticketCheck()), deadline, progress, in.labels, c.KeyID, c.isPerson())
	return wrap("insert deprovision", err)
}
