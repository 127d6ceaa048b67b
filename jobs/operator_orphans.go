package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// Orphan is something that may be left outside: a line of the ledger.
type Orphan struct {
	ID         string
	Tenant     string // a name; "" where the instance is unknown
	InstanceID string
	BindingID  string // "" where it is the instance's
	JobID      string // the one that left it; "" where reconcile found it
	Service    string
	Driver     string
	Kind, Name string
	Reason     string
	CreatedAt  time.Time
	Tries      int
	TriedAt    *time.Time
	RetryAt    *time.Time // nil where only an operator can go on
	EndedAt    *time.Time
	Ending     string // "removed" or "forgotten"
}

// OrphanFilter picks orphans; zero fields filter nothing.
type OrphanFilter struct {
	Tenant, InstanceID string
	// Ended are listed too.
	Ended bool
}

// ListOrphans lists the ledger of all tenants, oldest first. Error: NotFound of the filter's tenant or instance,
// where the ledger has none of it: reconcile may have found something of an unknown one.
func (o *Operator) ListOrphans(ctx context.Context, f OrphanFilter) ([]Orphan, error) {
	rows, err := o.s.pool.Query(ctx, `
		SELECT o.id, coalesce(t.name, ''), o.instance_id, coalesce(o.binding_id, ''), o.job_id, o.service, o.driver, o.kind, o.name,
		       o.reason, o.created_at, o.tries, o.tried_at, o.retry_at, o.ended_at, coalesce(o.ending, '')
		FROM orphan o LEFT JOIN tenant t ON t.id = o.tenant_id
		WHERE ($1 = '' OR t.name = $1) AND ($2 = '' OR o.instance_id = $2) AND ($3 OR o.ended_at IS NULL)
		ORDER BY o.id`, f.Tenant, f.InstanceID, f.Ended)
	if err != nil {
		return nil, wrap("list orphans", err)
	}
	orphans, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Orphan])
	if err == nil && len(orphans) == 0 {
		return nil, o.mustExist(ctx, f.Tenant, f.InstanceID)
	}
	return orphans, wrap("list orphans", err)
}

// orphanRow is an orphan under a row lock.
type orphanRow struct {
	id, tenantID, instanceID, bindingID, kind, name string
	ended                                           bool
	instance                                        InstanceState // "" where it is unknown
}

// onOrphan changes an orphan that has not ended. Errors: NotFound, InvalidRequest where it has.
func (o *Operator) onOrphan(ctx context.Context, orphanID string, change func(*write, *orphanRow) error) error {
	return o.write(ctx, func(w *write) error {
		r := &orphanRow{id: orphanID}
		err := w.tx.QueryRow(ctx, `
			SELECT o.tenant_id, o.instance_id, coalesce(o.binding_id, ''), o.kind, o.name, o.ended_at IS NOT NULL, coalesce(i.state, '')
			FROM orphan o LEFT JOIN instance i ON i.id = o.instance_id WHERE o.id = $1 FOR UPDATE OF o`, orphanID).
			Scan(&r.tenantID, &r.instanceID, &r.bindingID, &r.kind, &r.name, &r.ended, &r.instance)
		if errors.Is(err, pgx.ErrNoRows) {
			return &Error{Code: NotFound, Detail: "there is no orphan of this ID"}
		}
		if err != nil {
			return wrap("lock orphan", err)
		}
		if r.ended {
			return &Error{Code: InvalidRequest, Detail: "the orphan has ended: it was removed or forgotten"}
		}
		return change(w, r)
	})
}

func (o *Operator) orphanEvent(w *write, r *orphanRow, kind, why string) {
	data := o.audit(why)
	data["orphan_id"], data["kind"], data["name"] = r.id, r.kind, r.name
	w.events = append(w.events, eventRow{tenantID: r.tenantID, instanceID: r.instanceID, kind: kind, actor: actorOperator, data: data})
}

// RetryOrphan lets the sweep try again at once to remove an orphan, with the tries counted anew.
// Errors: NotFound, InvalidRequest where no job can remove it.
func (o *Operator) RetryOrphan(ctx context.Context, orphanID, why string) error {
	return o.onOrphan(ctx, orphanID, func(w *write, r *orphanRow) error {
		if err := r.mayRetry(); err != nil {
			return err
		}
		_, err := w.tx.Exec(ctx, `UPDATE orphan SET retry_at = clock_timestamp(), tries = 0 WHERE id = $1`, r.id)
		o.orphanEvent(w, r, "operator.retry_orphan", why)
		return wrap("retry orphan", err)
	})
}

func (r *orphanRow) mayRetry() error {
	switch {
	case r.instance == "", r.instance == InstanceDeleted:
		return &Error{Code: InvalidRequest, Detail: "the orphan's instance is deleted or unknown, so no job can remove it: remove it at the back end, then orphans forget"}
	case r.bindingID != "" && r.instance == InstanceFailed:
		return &Error{Code: InvalidRequest, Detail: "the orphan is of a binding whose instance is failed: it goes with that, when the instance is deleted"}
	}
	return nil
}

// ForgetOrphan takes an orphan off the ledger, and nothing tries to remove it any more. Errors: NotFound,
// InvalidRequest.
func (o *Operator) ForgetOrphan(ctx context.Context, orphanID, why string) error {
	return o.onOrphan(ctx, orphanID, func(w *write, r *orphanRow) error {
		batch := &pgx.Batch{}
		batch.Queue(`
			UPDATE orphan SET ended_at = clock_timestamp(), ending = 'forgotten', retry_at = NULL WHERE id = $1`, r.id)
		// With nothing on the ledger the sweep would begin again to remove the binding.
		batch.Queue(`
			UPDATE binding b SET removing = false, updated_at = clock_timestamp()
			WHERE b.id = $1 AND NOT EXISTS (SELECT 1 FROM orphan o WHERE o.binding_id = b.id AND o.ended_at IS NULL)`, r.bindingID)
		o.orphanEvent(w, r, "operator.forget_orphan", why)
		return wrap("forget orphan", w.tx.SendBatch(ctx, batch).Close())
	})
}
