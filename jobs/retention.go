package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	retentionInterval = time.Minute
	retentionBatch    = 500
)

// retentionLoop removes what is past its time until ctx is done, in small batches, so that it holds up
// nothing. Every replica does; a row that another one removes is passed over.
func (s *Service) retentionLoop(ctx context.Context) {
	for tick(ctx, retentionInterval) {
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = s.removeOld(ctx); err != nil {
				if ctx.Err() == nil {
					s.log.WarnContext(ctx, "retention failed", "error", err)
				}
				break
			}
		}
	}
}

// removeOld removes one batch of each kind, and reports whether there may be more.
func (s *Service) removeOld(ctx context.Context) (bool, error) {
	statements := []struct {
		sql string
		age time.Duration
	}{
		// Questions go with their job.
		{`WITH gone AS (
			DELETE FROM job WHERE id IN (
				SELECT id FROM job WHERE finished_at < clock_timestamp() - $1::interval LIMIT $2 FOR UPDATE SKIP LOCKED)
			RETURNING id)
		  DELETE FROM event WHERE job_id IN (SELECT id FROM gone)`, s.cfg.Retention},
		// Deleted instances go, with their bindings, when no job of theirs is left.
		{`DELETE FROM instance WHERE id IN (
			SELECT id FROM instance i WHERE state = 'deleted' AND updated_at < clock_timestamp() - $1::interval
			  AND NOT EXISTS (SELECT 1 FROM job j WHERE j.instance_id = i.id) LIMIT $2 FOR UPDATE SKIP LOCKED)`, s.cfg.Retention},
		// Deleted bindings of instances that live on.
		{`DELETE FROM binding WHERE id IN (
			SELECT id FROM binding WHERE state = 'deleted' AND NOT removing AND updated_at < clock_timestamp() - $1::interval
			LIMIT $2 FOR UPDATE SKIP LOCKED)`, s.cfg.Retention},
		{`DELETE FROM orphan WHERE id IN (
			SELECT id FROM orphan WHERE ended_at < clock_timestamp() - $1::interval LIMIT $2 FOR UPDATE SKIP LOCKED)`, s.cfg.Retention},
		{`DELETE FROM idempotency WHERE (tenant_id, key) IN (
			SELECT tenant_id, key FROM idempotency WHERE created_at < clock_timestamp() - $1::interval LIMIT $2 FOR UPDATE SKIP LOCKED)`, idempotencyKept},
		{`DELETE FROM worker WHERE id IN (
			SELECT id FROM worker WHERE seen_at < clock_timestamp() - $1::interval LIMIT $2 FOR UPDATE SKIP LOCKED)`, time.Hour},
	}
	more := false
	for _, st := range statements {
		tag, err := s.pool.Exec(ctx, st.sql, st.age, retentionBatch)
		if err != nil {
			return false, wrap("remove old rows", err)
		}
		more = more || tag.RowsAffected() >= retentionBatch
	}
	return more, nil
}

// Stats are the figures of an operator's dashboard.
type Stats struct {
	// Jobs counts the jobs that are not finished, by what is shown as their state or phase.
	Jobs map[string]int
	// LeaseLapsed counts the running jobs beyond their lease: their workers are dead or cut off.
	LeaseLapsed int
	// Leftovers counts the finished jobs that have left something behind.
	Leftovers int
	// Instances counts the instances that are not deleted, by state.
	Instances map[InstanceState]int
	// Orphans counts what may be left outside; OrphansStuck what of it only an operator can go on with.
	Orphans, OrphansStuck int
	// OldestQueued is how long the first job in the queue has been waiting.
	OldestQueued time.Duration
}

// Stats counts anew at each call.
func (s *Service) Stats(ctx context.Context) (Stats, error) {
	out := Stats{Jobs: map[string]int{}, Instances: map[InstanceState]int{}}
	rows, err := s.pool.Query(ctx, `
		SELECT coalesce(phase, state), count(*), count(*) FILTER (WHERE lease_until < clock_timestamp()),
		       coalesce(max(clock_timestamp() - updated_at) FILTER (WHERE phase = 'queued' AND waits_for IS NULL), '0')
		FROM job WHERE finished_at IS NULL GROUP BY 1`)
	if err != nil {
		return Stats{}, wrap("count jobs", err)
	}
	var name string
	var count, lapsed int
	var oldest time.Duration
	_, err = pgx.ForEachRow(rows, []any{&name, &count, &lapsed, &oldest}, func() error {
		out.Jobs[name] = count
		out.LeaseLapsed += lapsed
		out.OldestQueued = max(out.OldestQueued, oldest)
		return nil
	})
	if err != nil {
		return Stats{}, wrap("count jobs", err)
	}
	err = s.pool.QueryRow(ctx, `SELECT count(*) FROM job WHERE finished_at IS NOT NULL AND leftovers <> '[]'`).Scan(&out.Leftovers)
	return out, errors.Join(wrap("count leftovers", err), s.countInstances(ctx, &out), s.countOrphans(ctx, &out))
}

func (s *Service) countInstances(ctx context.Context, out *Stats) error {
	rows, err := s.pool.Query(ctx, `SELECT state, count(*) FROM instance WHERE state <> 'deleted' GROUP BY 1`)
	if err != nil {
		return wrap("count instances", err)
	}
	var state InstanceState
	var count int
	_, err = pgx.ForEachRow(rows, []any{&state, &count}, func() error {
		out.Instances[state] = count
		return nil
	})
	return wrap("count instances", err)
}

func (s *Service) countOrphans(ctx context.Context, out *Stats) error {
	err := s.pool.QueryRow(ctx, `
		SELECT count(*), count(*) FILTER (WHERE retry_at IS NULL) FROM orphan WHERE ended_at IS NULL`).Scan(&out.Orphans, &out.OrphansStuck)
	return wrap("count orphans", err)
}
