package jobs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/provisiond/provisiond/provider"
)

// CheckRequest asks to hold an instance against what exists outside.
type CheckRequest struct {
	InstanceID     string
	IdempotencyKey string // "" = none
}

// Check starts a job that compares an active instance with what exists, and changes nothing. What it
// finds is then in [Instance.Findings]. While a check runs, the result is its job.
//
// Errors: NotFound, OperationInProgress, InstanceNotActive, PlanRemoved, IdempotencyKeyReused,
// IdempotencyInProgress.
func (s *Service) Check(ctx context.Context, c Caller, r CheckRequest) (Result, error) {
	return again(func() (Result, error) {
		return s.idempotent(ctx, c, r.IdempotencyKey, "check", r.InstanceID, func(w *write) (Result, error) {
			return s.check(ctx, w, c, r.InstanceID)
		})
	})
}

func (s *Service) check(ctx context.Context, w *write, c Caller, instanceID string) (Result, error) {
	live, in, err := s.lockInstance(ctx, w.tx, c.TenantID, instanceID)
	if err != nil {
		return Result{}, err
	}
	if live != nil && live.Operation == OpCheck {
		job, err := getJob(ctx, w.tx, c.TenantID, live.ID)
		return Result{Job: job, Existing: true}, err
	}
	if err := s.mayBegin(in, live); err != nil {
		return Result{}, err
	}
	return s.begin(ctx, w, c, in, newOperation(in, OpCheck))
}

// saveFindings commits what a check has found, and when the plan wants the next one.
func (s *Service) saveFindings(ctx context.Context, w *write, j *jobRow, found []provider.Finding) error {
	findings := make([]Finding, len(found))
	for i, f := range found {
		findings[i] = Finding{Kind: f.Kind, ObjectKind: f.Object.Kind, ObjectName: f.Object.Name, Detail: clip(f.Detail, 500)}
	}
	text, err := json.Marshal(findings)
	if err != nil {
		return fmt.Errorf("findings: %w", err)
	}
	_, err = w.tx.Exec(ctx, `
		UPDATE instance SET checked_at = clock_timestamp(), findings = $2, updated_at = clock_timestamp() WHERE id = $1`, j.InstanceID, text)
	if err != nil {
		return fmt.Errorf("save findings: %w", err)
	}
	w.event(j, actorWorker, "instance.checked", map[string]any{"findings": len(findings)})
	return nil
}

// planCheck sets when an instance is checked next, where its plan has it checked.
func (s *Service) planCheck(ctx context.Context, w *write, j *jobRow) error {
	plan := s.planOf(j)
	if plan == nil || plan.CheckEvery == 0 {
		return nil
	}
	_, err := w.tx.Exec(ctx, `UPDATE instance SET check_at = clock_timestamp() + $2::interval WHERE id = $1`, j.InstanceID, plan.CheckEvery)
	return wrap("plan check", err)
}
