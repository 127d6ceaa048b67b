package main

import (
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/jobs"
	"github.com/provisiond/provisiond/jobs/catalog"
)

// newService makes the core as the options say.
func (o replicaOptions) newService(pool *pgxpool.Pool, c *catalog.Catalog, sealer *jobs.Sealer, log *slog.Logger) (*jobs.Service, error) {
	return jobs.New(jobs.Config{
		Pool:           pool,
		Catalog:        c,
		Sealer:         sealer,
		Logger:         log,
		Lease:          o.Lease,
		Sweep:          o.Sweep,
		JobDeadline:    o.JobDeadline,
		QuestionExpiry: o.QuestionExpiry,
		Workers:        o.Workers,
	})
}
