package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Delete starts to deprovision an instance, from any state. A provision that still runs is canceled
// first, and the new job begins at its end. When the instance is gone, or is being deleted already,
// the result is the job that did or does it. Where an agent asks for the end of an active instance, a
// person must confirm it, unless the plan says otherwise; a call by another kind of key confirms too.
//
// Errors: NotFound, IdempotencyKeyReused, IdempotencyInProgress.
func (s *Service) Delete(ctx context.Context, c Caller, instanceID, idempotencyKey string) (Result, error) {
	for {
		result, err := s.idempotent(ctx, c, idempotencyKey, "delete", instanceID, func(w *write) (Result, error) {
			return s.delete(ctx, w, c, instanceID)
		})
		if !errors.Is(err, errAgain) && !violates(err, "instance_live_name") {
			return result, err
		}
	}
}

// errAgain: another transaction changed what this one had begun with; begin anew.
var errAgain = errors.New("changed meanwhile")

func (s *Service) delete(ctx context.Context, w *write, c Caller, instanceID string) (Result, error) {
	live, err := lockLive(ctx, w.tx, c.TenantID, instanceID)
	if err != nil {
		return Result{}, err
	}
	in, err := lockInstance(ctx, w.tx, c.TenantID, instanceID)
	if err != nil {
		return Result{}, err
	}
	switch {
	case in.state == InstanceDeleted || live == nil && in.state == InstanceDeprovisioning:
		job, err := getJob(ctx, w.tx, c.TenantID, in.jobID)
		return Result{Job: job, Existing: true}, err
	case live != nil && live.Operation == OpDeprovision:
		if err := s.confirmDestroy(ctx, w, c, live); err != nil {
			return Result{}, err
		}
		job, err := getJob(ctx, w.tx, c.TenantID, live.ID)
		return Result{Job: job, Existing: true}, err
	case live == nil && in.state == InstanceProvisioning:
		return Result{}, errAgain // it ended between the two locks
	}
	job, err := s.insertDeprovision(ctx, w, c, in, live)
	return Result{Job: job}, err
}

// lockLive locks the instance's live job, the one that waits rather than the one it waits for; nil
// where there is none.
func lockLive(ctx context.Context, tx pgx.Tx, tenantID, instanceID string) (*jobRow, error) {
	var id string
	err := tx.QueryRow(ctx, `
		SELECT id FROM job WHERE tenant_id = $1 AND instance_id = $2 AND finished_at IS NULL
		ORDER BY waits_for IS NULL LIMIT 1`, tenantID, instanceID).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no live job is not an error
	}
	if err != nil {
		return nil, fmt.Errorf("find live job: %w", err)
	}
	j, err := lockJob(ctx, tx, id, `FOR UPDATE`)
	if err != nil {
		return nil, err
	}
	if j.State.Final() {
		return nil, errAgain
	}
	return j, nil
}

// instanceRow is what Delete needs of an instance.
type instanceRow struct {
	id, name, service, plan, driver, jobID string
	state                                  InstanceState
	labels                                 []byte
}

func lockInstance(ctx context.Context, tx pgx.Tx, tenantID, instanceID string) (*instanceRow, error) {
	in := &instanceRow{id: instanceID}
	err := tx.QueryRow(ctx, `
		SELECT coalesce(name, ''), service, plan, driver, job_id, state, labels FROM instance WHERE tenant_id = $1 AND id = $2 FOR UPDATE`,
		tenantID, instanceID).Scan(&in.name, &in.service, &in.plan, &in.driver, &in.jobID, &in.state, &in.labels)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, &Error{Code: NotFound, Detail: "there is no such instance"}
	}
	if err != nil {
		return nil, fmt.Errorf("lock instance: %w", err)
	}
	return in, nil
}

// insertDeprovision inserts the job that removes the instance; before is the provision that must end
// first, if there is one.
func (s *Service) insertDeprovision(ctx context.Context, w *write, c Caller, in *instanceRow, before *jobRow) (Job, error) {
	j := &jobRow{tenantID: c.TenantID, driver: in.driver, epoch: 1, phase: Queued}
	j.Job = Job{ID: newID("job"), Operation: OpDeprovision, Service: in.service, Plan: in.plan, InstanceID: in.id, State: Pending}
	j.Progress = Progress{Step: "queued", Message: "Queued."}
	asks := s.mustConfirm(c, in, j, before)
	if asks {
		j.epoch = 0 // so that the confirmation raises it to the first one
	}
	if before != nil {
		// The new job is seen by the end of the one before, in this transaction or a later one.
		j.waitsFor, before.hasSuccessor = before.ID, true
	}
	if err := s.insertDeprovisionJob(ctx, w, c, in, j); err != nil {
		return Job{}, err
	}
	if _, err := w.tx.Exec(ctx, `UPDATE instance SET job_id = $2 WHERE id = $1`, in.id, j.ID); err != nil {
		return Job{}, fmt.Errorf("deprovision instance: %w", err)
	}
	w.event(j, c.KeyID, "job.started", map[string]any{"operation": j.Operation, "service": j.Service, "plan": j.Plan})
	w.changed = append(w.changed, j.ID)
	if err := s.beginDeprovision(ctx, w, c, in, j, before, asks); err != nil {
		return Job{}, err
	}
	return getJob(ctx, w.tx, c.TenantID, j.ID)
}

// beginDeprovision lets the new job ask, wait for the provision before it, or run.
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

// supersede ends a provision in favour of the deprovision that waits for it: without a clean-up of
// its own, also when one was under way.
func (s *Service) supersede(ctx context.Context, w *write, j *jobRow, actor string) error {
	if j.ending == "" && !j.cancelRequested {
		return s.cancel(ctx, w, j, actor)
	}
	if j.phase == Running {
		return nil // its worker comes to its end
	}
	return s.settleEnding(ctx, w, j, actor)
}
