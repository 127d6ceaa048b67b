package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/migrations"
)

type migrateUpCmd struct {
	databaseOptions
	startupOptions
}

func (c *migrateUpCmd) run(ctx context.Context, p *process) error {
	return c.withPool(func(pool *pgxpool.Pool) error {
		if err := awaitDatabase(ctx, pool, c.StartupTimeout, p.log); err != nil {
			return err
		}
		return migrations.Up(ctx, pool)
	})
}

type migrateStatusCmd struct{ databaseOptions }

func (c *migrateStatusCmd) run(ctx context.Context, p *process) error {
	return c.withPool(func(pool *pgxpool.Pool) error {
		list, err := migrations.Status(ctx, pool)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
		for _, m := range list {
			applied := "to be applied"
			if !m.AppliedAt.IsZero() {
				applied = utc(m.AppliedAt)
			}
			fmt.Fprintf(table, "%d\t%s\t%s\n", m.Version, applied, m.Name)
		}
		return table.Flush() // with the first error of the writes
	})
}

// utc is how commands print times.
func utc(t time.Time) string { return t.UTC().Format(time.RFC3339) }
