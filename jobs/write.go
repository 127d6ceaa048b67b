package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// ticketArgs wakes a worker for one claim of a job. Only the epoch that it carries can be claimed
// with it.
type ticketArgs struct {
	JobID string `json:"job_id"`
	Epoch int64  `json:"epoch"`
}

// Kind implements river.JobArgs.
func (ticketArgs) Kind() string { return "run_job" }

// ticketMaxAttempts bounds how often River tries a ticket that fails before a claim (the database
// went away). After that the sweep makes a new one.
const ticketMaxAttempts = 3

// A write is one transaction of the core. Its methods note what must be in it besides the rows:
// events and tickets go in last.
type write struct {
	tx      pgx.Tx
	events  []eventRow
	tickets []river.InsertManyParams
	changed []string
}

// write runs fn in a transaction and, after the commit, wakes those who wait for the changed jobs.
func (s *Service) write(ctx context.Context, fn func(*write) error) error {
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer rollback(ctx, tx)
	w := &write{tx: tx}
	if err := fn(w); err != nil {
		return err
	}
	if err := insertEvents(ctx, tx, w.events); err != nil {
		return err
	}
	if len(w.tickets) > 0 {
		if _, err := s.river.InsertManyTx(ctx, tx, w.tickets); err != nil {
			return fmt.Errorf("insert tickets: %w", err)
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	s.announce(w.changed)
	return nil
}

// rollback ends a transaction even when ctx is done, so that the connection goes back to the pool.
// After a commit it does nothing.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = tx.Rollback(ctx) // the connection is closed where this fails
}

// event notes a line of history of the job.
func (w *write) event(j *jobRow, actor, kind string, data map[string]any) {
	w.events = append(w.events, eventRow{
		tenantID: j.tenantID, jobID: j.ID, instanceID: j.InstanceID,
		kind: kind, actor: actor, data: data,
	})
}

// ticket notes that a worker is to be woken for the job's present epoch.
func (w *write) ticket(j *jobRow) {
	w.tickets = append(w.tickets, river.InsertManyParams{
		Args:       ticketArgs{JobID: j.ID, Epoch: j.epoch},
		InsertOpts: &river.InsertOpts{Queue: j.driver, MaxAttempts: ticketMaxAttempts},
	})
}
