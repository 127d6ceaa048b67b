package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/jobs"
)

type tenantsCreateCmd struct {
	databaseOptions

	Name string `arg:"" help:"1 to 63 lower-case letters, digits and dashes, the first a letter."`
}

func (c *tenantsCreateCmd) run(ctx context.Context, p *process) error {
	return c.withSchema(ctx, func(pool *pgxpool.Pool) error {
		tenant, err := jobs.NewAdmin(pool).CreateTenant(ctx, c.Name)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(p.stdout, tenant.ID)
		return err
	})
}

type tenantsListCmd struct{ databaseOptions }

func (c *tenantsListCmd) run(ctx context.Context, p *process) error {
	return c.withSchema(ctx, func(pool *pgxpool.Pool) error {
		tenants, err := jobs.NewAdmin(pool).ListTenants(ctx)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
		for _, t := range tenants {
			fmt.Fprintf(table, "%s\t%s\t%s\n", t.ID, t.Name, utc(t.CreatedAt))
		}
		return table.Flush() // with the first error of the writes
	})
}
