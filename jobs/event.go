package jobs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// eventRow is a line of history before it is written.
type eventRow struct {
	tenantID, jobID, instanceID string
	kind                        string
	actor                       string
	data                        map[string]any // no secrets
}

// The actors that are not keys.
const (
	actorWorker   = "worker"
	actorSweeper  = "sweeper"
	actorOperator = "operator"
)

// insertEvents writes events in one round trip.
func insertEvents(ctx context.Context, tx pgx.Tx, events []eventRow) error {
	if len(events) == 0 {
		return nil
	}
	batch := &pgx.Batch{}
	for _, e := range events {
		if err := queueEvent(batch, e); err != nil {
			return err
		}
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("insert events: %w", err)
	}
	return nil
}

func queueEvent(batch *pgx.Batch, e eventRow) error {
	if e.data == nil {
		e.data = map[string]any{}
	}
	data, err := json.Marshal(e.data)
	if err != nil {
		return fmt.Errorf("event %s: %w", e.kind, err)
	}
	batch.Queue(`
		INSERT INTO event (id, tenant_id, job_id, instance_id, type, actor, data)
		VALUES ($1, $2, nullif($3, ''), nullif($4, ''), $5, $6, $7)`,
		newID("evt"), e.tenantID, e.jobID, e.instanceID, e.kind, e.actor, data)
	return nil
}
