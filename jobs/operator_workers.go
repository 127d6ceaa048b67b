package jobs

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// WorkerStatus is a worker as the database knows it.
type WorkerStatus struct {
	ID      string
	Drivers []string
	Alive   bool // its last sign of life is recent
	// StartedAt and SeenAt are nil for one that has signed off, or is long gone, and still holds jobs.
	StartedAt, SeenAt *time.Time
	// Jobs is how many it runs. Their leases lapse between FirstLease and LastLease unless it renews them.
	Jobs                  int
	FirstLease, LastLease *time.Time
}

// ListWorkers lists the workers, and whoever else holds a lease.
func (o *Operator) ListWorkers(ctx context.Context) ([]WorkerStatus, error) {
	rows, err := o.s.pool.Query(ctx, `
		SELECT coalesce(w.id, j.owner), coalesce(w.drivers, '{}'),
		       coalesce(w.seen_at > clock_timestamp() - interval '`+workerSeen+`', false), w.started_at, w.seen_at,
		       coalesce(j.jobs, 0), j.first, j.last
		FROM worker w FULL JOIN (
			SELECT owner, count(*) AS jobs, min(lease_until) AS first, max(lease_until) AS last
			FROM job WHERE owner IS NOT NULL AND finished_at IS NULL GROUP BY owner) j ON j.owner = w.id
		ORDER BY 1`)
	if err != nil {
		return nil, wrap("list workers", err)
	}
	workers, err := pgx.CollectRows(rows, pgx.RowToStructByPos[WorkerStatus])
	return workers, wrap("list workers", err)
}
