package jobs

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// sweeper acts for the tenant where time is up. Like an operator it needs nobody's confirmation.
func sweeper(tenantID string) Caller {
	return Caller{TenantID: tenantID, KeyID: actorSweeper, Kind: KindAdmin}
}

// sweepLife does for instances and bindings what time has brought, by the database's clock.
func (s *Service) sweepLife(ctx context.Context) error {
	return errors.Join(
		wrap("expire instances", s.each(ctx, `
			SELECT id FROM instance WHERE expires_at <= clock_timestamp() AND state IN ('provisioning', 'active')
			ORDER BY expires_at LIMIT $1`, s.expireInstance)),
		wrap("announce expiries", s.announceExpiries(ctx)),
		wrap("remove bindings", s.each(ctx, `
			SELECT b.id FROM binding b JOIN instance i ON i.id = b.instance_id
			WHERE `+bindingDue+` AND i.state = 'active'
			  AND NOT EXISTS (SELECT 1 FROM job j WHERE j.instance_id = i.id AND j.finished_at IS NULL)
			LIMIT $1`, s.removeBinding)),
		wrap("check instances", s.each(ctx, `
			SELECT id FROM instance WHERE check_at <= clock_timestamp() AND state = 'active' ORDER BY check_at LIMIT $1`, s.checkInTurn)),
		wrap("retry orphans", s.retryOrphans(ctx)),
	)
}

// each does something for each of the IDs that a query finds, in a transaction of its own, so that one
// that cannot be handled holds up no other.
func (s *Service) each(ctx context.Context, query string, do func(context.Context, string) error) error {
	rows, err := s.pool.Query(ctx, query, sweepBatch)
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		err := do(ctx, id)
		if !errors.Is(err, errAgain) && !errors.Is(err, OperationInProgress) && !violates(err, "job_one_live") { // the next sweep finds it
			errs = append(errs, wrap(id, err))
		}
	}
	return errors.Join(errs...)
}

// expireInstance starts to deprovision an instance whose time is up.
func (s *Service) expireInstance(ctx context.Context, instanceID string) error {
	return s.write(ctx, func(w *write) error {
		tenantID, err := tenantOf(ctx, w, instanceID)
		if err != nil {
			return err
		}
		live, in, err := s.lockInstance(ctx, w.tx, tenantID, instanceID)
		if err != nil {
			return err
		}
		if in.expiresAt == nil || in.expiresAt.After(in.now) || in.state != InstanceActive && in.state != InstanceProvisioning {
			return nil // extended, or deleted
		}
		c := sweeper(tenantID)
		w.instanceEvent(in, actorSweeper, "instance.expired", nil)
		if _, under, err := s.deletion(ctx, w, c, in, live); under || err != nil {
			return err
		}
		_, err = s.insertDeprovision(ctx, w, c, in, live)
		return err
	})
}

func tenantOf(ctx context.Context, w *write, instanceID string) (tenantID string, err error) {
	err = w.tx.QueryRow(ctx, `SELECT tenant_id FROM instance WHERE id = $1`, instanceID).Scan(&tenantID)
	return tenantID, wrap("read instance", err)
}

// announceExpiries writes an event for each instance whose end comes near.
func (s *Service) announceExpiries(ctx context.Context) error {
	return s.write(ctx, func(w *write) error {
		rows, err := w.tx.Query(ctx, `
			UPDATE instance SET warn_at = NULL WHERE id IN (
				SELECT id FROM instance WHERE warn_at <= clock_timestamp() AND state IN ('provisioning', 'active')
				ORDER BY warn_at LIMIT $1 FOR UPDATE SKIP LOCKED)
			RETURNING id, tenant_id, expires_at`, sweepBatch)
		if err != nil {
			return err
		}
		in := &instanceRow{}
		_, err = pgx.ForEachRow(rows, []any{&in.id, &in.tenantID, &in.expiresAt}, func() error {
			w.instanceEvent(in, actorSweeper, "instance.expiring", map[string]any{"expires_at": in.expiresAt.UTC()})
			return nil
		})
		return err
	})
}

// bindingDue: its time is up, or a job that was cut short has perhaps left it. What is on the ledger is
// tried by that.
const bindingDue = `(b.expires_at <= clock_timestamp() AND b.state = 'active'
	OR b.removing AND NOT EXISTS (SELECT 1 FROM orphan o WHERE o.binding_id = b.id AND o.ended_at IS NULL))`

// removeBinding starts to remove a binding that is due.
func (s *Service) removeBinding(ctx context.Context, bindingID string) error {
	return s.write(ctx, func(w *write) error {
		var tenantID string
		err := w.tx.QueryRow(ctx, `SELECT b.tenant_id FROM binding b WHERE b.id = $1 AND `+bindingDue, bindingID).Scan(&tenantID)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // another replica has begun it
		}
		if err != nil {
			return wrap("read binding", err)
		}
		_, err = s.unbind(ctx, w, sweeper(tenantID), bindingID)
		return err
	})
}

// checkInTurn starts the check that an instance's plan wants from time to time.
func (s *Service) checkInTurn(ctx context.Context, instanceID string) error {
	return s.write(ctx, func(w *write) error {
		tenantID, err := tenantOf(ctx, w, instanceID)
		if err != nil {
			return err
		}
		_, in, err := s.lockInstance(ctx, w.tx, tenantID, instanceID)
		if err != nil {
			return err
		}
		plan := s.planNamed(in.service, in.plan)
		if plan == nil || plan.CheckEvery == 0 {
			_, err = w.tx.Exec(ctx, `UPDATE instance SET check_at = NULL WHERE id = $1`, instanceID)
			return wrap("plan check", err)
		}
		tag, err := w.tx.Exec(ctx, `
			UPDATE instance SET check_at = clock_timestamp() + $2::interval WHERE id = $1 AND check_at <= clock_timestamp()`,
			instanceID, plan.CheckEvery)
		if err != nil || tag.RowsAffected() == 0 {
			return wrap("plan check", err) // another replica has started it
		}
		_, err = s.check(ctx, w, sweeper(tenantID), instanceID)
		return err
	})
}
