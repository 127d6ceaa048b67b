package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// The back-off between the tries to remove what was left behind, and their bound. After that an operator
// has to look.
const (
	orphanFirstTry = time.Minute
	orphanLastTry  = 24 * time.Hour
	orphanTries    = 12
)

// recordOrphans brings the ledger of what may be left outside to what the end of a job says: what it has
// removed is closed, and what it could not remove is noted.
func (s *Service) recordOrphans(ctx context.Context, w *write, j *jobRow, neverRan bool) error {
	batch := &pgx.Batch{}
	if j.hasRemoved(neverRan) {
		kinds, names := []string{}, []string{}
		for _, l := range j.Leftovers {
			kinds, names = append(kinds, l.Kind), append(names, l.Name)
		}
		batch.Queue(`
			UPDATE orphan SET ended_at = clock_timestamp(), ending = 'removed', retry_at = NULL
			WHERE instance_id = $1 AND ended_at IS NULL AND ($2 = '' OR binding_id = $2)
			  AND NOT EXISTS (SELECT 1 FROM unnest($3::text[], $4::text[]) AS left_over (kind, name)
			                  WHERE left_over.kind = orphan.kind AND left_over.name = orphan.name)`,
			j.InstanceID, j.orphanBinding(), kinds, names)
	}
	// What somebody wanted to keep is not removed behind their back.
	handsOff := j.Error != nil && j.Error.handsOff() || j.Operation == OpDeprovision && j.State == Canceled
	for _, l := range j.Leftovers {
		batch.Queue(`
			INSERT INTO orphan (id, tenant_id, instance_id, binding_id, job_id, service, driver, kind, name, reason, retry_at)
			VALUES ($1, $2, $3, nullif($4, ''), $5, $6, $7, $8, $9, $10, CASE WHEN NOT $11 THEN clock_timestamp() + $12::interval END)
			ON CONFLICT (instance_id, kind, name) WHERE ended_at IS NULL DO UPDATE
			SET job_id = excluded.job_id, reason = excluded.reason, retry_at = CASE WHEN NOT $11 THEN orphan.retry_at END`,
			newID("orph"), j.tenantID, j.InstanceID, j.orphanBinding(), j.ID, j.Service, j.driver, l.Kind, l.Name, l.Reason,
			handsOff, orphanFirstTry)
	}
	if batch.Len() == 0 {
		return nil
	}
	return wrap("record orphans", w.tx.SendBatch(ctx, batch).Close())
}

// hasRemoved reports whether the job has tried to remove the instance or the binding, so that its
// leftovers are all that is left.
func (j *jobRow) hasRemoved(neverRan bool) bool {
	if j.Error != nil && j.Error.Code == codeForgotten {
		return false
	}
	switch j.Operation {
	case OpDeprovision, OpUnbind:
		return j.State == Succeeded || j.State == Failed && !neverRan
	case OpProvision:
		return j.State == Canceled && j.touched && !j.hasSuccessor
	case OpUpdate, OpBind, OpRotate, OpCheck:
	}
	return false
}

// orphanBinding is the binding that the job's leftovers are of, and none where they are the instance's.
func (j *jobRow) orphanBinding() string {
	if j.Operation.onBinding() {
		return j.BindingID
	}
	return ""
}

// retryOrphans starts the jobs that try again to remove what was left behind. An instance is tried as a
// whole.
func (s *Service) retryOrphans(ctx context.Context) error {
	return s.each(ctx, `SELECT id FROM orphan WHERE retry_at <= clock_timestamp() ORDER BY retry_at LIMIT $1`, s.retryOrphan)
}

func (s *Service) retryOrphan(ctx context.Context, id string) error {
	return s.write(ctx, func(w *write) error {
		var tenantID, instanceID, bindingID string
		err := w.tx.QueryRow(ctx, `
			SELECT tenant_id, instance_id, coalesce(binding_id, '') FROM orphan WHERE id = $1 AND retry_at <= clock_timestamp()`, id).
			Scan(&tenantID, &instanceID, &bindingID)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // another replica has tried it
		}
		if err != nil {
			return fmt.Errorf("read orphan: %w", err)
		}
		live, in, err := s.lockInstance(ctx, w.tx, tenantID, instanceID)
		if err != nil {
			return err
		}
		if live != nil {
			return putOffOrphan(ctx, w, id)
		}
		due, err := countTry(ctx, w, instanceID, bindingID)
		if !due || err != nil {
			return err
		}
		return s.removeAgain(ctx, w, in, bindingID)
	})
}

// putOffOrphan lets an orphan wait for the end of the job that works on its instance.
func putOffOrphan(ctx context.Context, w *write, id string) error {
	_, err := w.tx.Exec(ctx, `
		UPDATE orphan SET retry_at = clock_timestamp() + $2::interval WHERE id = $1 AND retry_at <= clock_timestamp()`, id, orphanFirstTry)
	return wrap("put off orphan", err)
}

// countTry counts a try of all that is left of an instance, or of its binding, where some of it is due. It is not
// where another replica has tried it. What needs an operator still does.
func countTry(ctx context.Context, w *write, instanceID, bindingID string) (due bool, err error) {
	tag, err := w.tx.Exec(ctx, `
		UPDATE orphan SET tries = tries + 1, tried_at = clock_timestamp(),
		       retry_at = CASE WHEN retry_at IS NOT NULL AND tries + 1 < $3
		                       THEN clock_timestamp() + least($4::interval * power(2, least(tries + 1, 20)), $5::interval) END
		WHERE instance_id = $1 AND coalesce(binding_id, '') = $2 AND ended_at IS NULL
		  AND EXISTS (SELECT FROM orphan o WHERE o.instance_id = $1 AND coalesce(o.binding_id, '') = $2 AND o.retry_at <= clock_timestamp())`,
		instanceID, bindingID, orphanTries, orphanFirstTry, orphanLastTry)
	return tag.RowsAffected() > 0, wrap("count try", err)
}

// removeAgain starts a job that removes what was left of a binding or of a failed instance.
func (s *Service) removeAgain(ctx context.Context, w *write, in *instanceRow, bindingID string) error {
	c := sweeper(in.tenantID)
	var err error
	switch {
	case bindingID != "" && in.state == InstanceActive:
		_, err = s.unbind(ctx, w, c, bindingID)
	case bindingID == "" && in.state == InstanceFailed:
		_, err = s.insertDeprovision(ctx, w, c, in, nil)
	}
	return err
}
