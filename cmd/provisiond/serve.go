package main

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/jobs"
	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/migrations"
)

type serveCmd struct {
	databaseOptions
	startupOptions
	replicaOptions
	catalogOption
	keysetOption

	Role    string `default:"all" choices:"all,api,worker" help:"What to run: api, worker or all of it."`
	Migrate bool   `help:"Bring the database to this release first, as migrate up does."`

	pool    *pgxpool.Pool
	catalog *catalog.Catalog
	sealer  *jobs.Sealer
}

func (c *serveCmd) check(env lookup, found *problems) {
	c.databaseOptions.check(env, found)
	c.replicaOptions.check(env, found)
	c.catalog = c.load(env, func() *pgxpool.Pool { return c.pool }, found)
	c.sealer = c.readSealer(found)
}

func (c *serveCmd) run(ctx context.Context, p *process) error {
	r := &replica{replicaOptions: c.replicaOptions, role: c.Role, log: p.log}
	if err := r.listen(ctx); err != nil {
		return err
	}
	defer r.close()
	return c.withPool(func(pool *pgxpool.Pool) error {
		c.pool = pool
		if err := c.prepareDatabase(ctx, p); err != nil {
			return err
		}
		service, err := c.newService(pool, c.catalog, c.sealer, p.log)
		if err != nil {
			return err
		}
		r.service = service
		return r.run(ctx)
	})
}

// prepareDatabase returns when the database answers and has the schema of this release.
func (c *serveCmd) prepareDatabase(ctx context.Context, p *process) error {
	if err := awaitDatabase(ctx, c.pool, c.StartupTimeout, p.log); err != nil {
		return err
	}
	if c.Migrate {
		return migrations.Up(ctx, c.pool)
	}
	return migrations.Check(ctx, c.pool)
}
