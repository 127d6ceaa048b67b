package jobs

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// ForgetInstance marks an instance as deleted without a call of its driver: for a back end that does not come
// back. What it may have outside is put on the ledger of orphans and not tried again. It opens no secret, so
// it works where the keyset is lost. Errors: NotFound, OperationInProgress, InstanceNotActive where it is
// deleted already.
func (o *Operator) ForgetInstance(ctx context.Context, instanceID, why string) error {
	return o.write(ctx, func(w *write) error {
		in, err := lockFree(ctx, w, instanceID)
		if err != nil {
			return err
		}
		if err := abandon(ctx, w, in.id, why); err != nil {
			return err
		}
		if err := moveInstance(ctx, w, in.id, InstanceDeleted); err != nil {
			return err
		}
		w.instanceEvent(in, actorOperator, "operator.forget_instance", o.audit(why))
		return clearInstance(ctx, w, in.id, InstanceDeleted)
	})
}

// lockFree locks an instance that no job works on. The lock keeps others from beginning one.
func lockFree(ctx context.Context, w *write, instanceID string) (*instanceRow, error) {
	in := &instanceRow{id: instanceID}
	err := w.tx.QueryRow(ctx, `SELECT tenant_id, state FROM instance WHERE id = $1 FOR UPDATE`, instanceID).Scan(&in.tenantID, &in.state)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, &Error{Code: NotFound, Detail: "there is no such instance"}
	}
	if err != nil {
		return nil, wrap("lock instance", err)
	}
	if in.state == InstanceDeleted {
		return nil, &Error{Code: InstanceNotActive, InstanceID: in.id, Detail: "The instance is deleted; there is nothing to forget."}
	}
	var jobID string
	err = w.tx.QueryRow(ctx, `
		SELECT id FROM job WHERE instance_id = $1 AND finished_at IS NULL ORDER BY waits_for IS NOT NULL LIMIT 1`, instanceID).Scan(&jobID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return in, nil
	case err != nil:
		return nil, wrap("find live job", err)
	}
	return nil, &Error{
		Code: OperationInProgress, InstanceID: in.id, JobID: jobID,
		Detail: "The job " + jobID + " works on the instance; jobs forget ends it.",
	}
}

// abandon puts what an instance may have outside on the ledger, without a next try.
func abandon(ctx context.Context, w *write, instanceID, why string) error {
	batch := &pgx.Batch{}
	batch.Queue(`UPDATE orphan SET retry_at = NULL WHERE instance_id = $1`, instanceID)
	batch.Queue(`
		INSERT INTO orphan (id, tenant_id, instance_id, job_id, service, driver, kind, name, reason)
		SELECT $2, tenant_id, id, job_id, service, driver, 'instance', id, $3 FROM instance WHERE id = $1 AND touched
		ON CONFLICT (instance_id, kind, name) WHERE ended_at IS NULL DO NOTHING`,
		instanceID, newID("orph"), codeForgotten+": "+because(why))
	return wrap("record orphans", w.tx.SendBatch(ctx, batch).Close())
}
