package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/jobs"
	"github.com/provisiond/provisiond/jobs/catalog"
)

type reconcileCmd struct {
	databaseOptions
	catalogOption

	Record bool `help:"Put what is found on the ledger of orphans."`

	pool    *pgxpool.Pool
	catalog *catalog.Catalog
}

func (c *reconcileCmd) check(env lookup, found *problems) {
	c.databaseOptions.check(env, found)
	c.catalog = c.load(env, func() *pgxpool.Pool { return c.pool }, found)
}

// run prints what it has found also where a back end could not be asked.
func (c *reconcileCmd) run(ctx context.Context, p *process) error {
	return c.withSchema(ctx, func(pool *pgxpool.Pool) error {
		c.pool = pool
		operator, err := jobs.NewOperator(pool, userName(), p.log)
		if err != nil {
			return err
		}
		strays, unasked := operator.Reconcile(ctx, c.catalog)
		t := newTable(p.stdout, "KIND", "NAME", "INSTANCE", "INSTANCE IS", "SERVICE")
		for _, s := range strays {
			t.row(s.Kind, s.Name, s.InstanceID, known(s), s.Service)
		}
		return errors.Join(unasked, t.flush(), c.record(ctx, p, operator, strays))
	})
}

func (c *reconcileCmd) record(ctx context.Context, p *process, o *jobs.Operator, strays []jobs.Stray) error {
	if !c.Record {
		return nil
	}
	n, err := o.RecordStrays(ctx, strays)
	if err != nil {
		return err
	}
	printLine(p.stderr, fmt.Sprintf("%d of %d put on the ledger of orphans; the others are on it.", n, len(strays)))
	return nil
}

func known(s jobs.Stray) string {
	if s.Deleted {
		return "deleted"
	}
	return "unknown"
}
