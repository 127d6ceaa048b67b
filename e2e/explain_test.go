package e2e_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// explainFailure shows what the database holds of unfinished jobs, where the test has failed.
func (c *cluster) explainFailure(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		rows, err := c.db.Query(ctx, `
			SELECT to_jsonb(j)::text FROM (
				SELECT id, state, phase, epoch, owner, lease_until, due_at, progress, error, clock_timestamp() AS now
				FROM job WHERE finished_at IS NULL ORDER BY id LIMIT 20) j
			UNION ALL SELECT to_jsonb(t)::text FROM (
				SELECT id, state, args, attempt, attempted_at, attempted_by, queue
				FROM river.river_job ORDER BY id DESC LIMIT 20) t`)
		if err != nil {
			t.Logf("unfinished jobs: %v", err)
			return
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		t.Logf("unfinished jobs and last tickets (%v):", err)
		for _, line := range lines {
			t.Log(line)
		}
	})
}
