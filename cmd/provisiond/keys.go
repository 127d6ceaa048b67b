package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/jobs"
)

type keysCreateCmd struct {
	databaseOptions
	tenantOption

	Kind      string        `default:"agent" choices:"agent,person,service,admin" help:"Who holds it: agent, person, service or admin. What only a person may answer takes a person or an admin."`
	Name      string        `placeholder:"TEXT" help:"What it is for."`
	Scope     []string      `help:"What it may do; repeat it, or separate by commas. By default everything, but for an agent not credentials:read."`
	ExpiresIn time.Duration `placeholder:"DURATION" help:"How long it is good for; for ever by default."`
}

func (c *keysCreateCmd) check(env lookup, found *problems) {
	c.databaseOptions.check(env, found)
	c.tenantOption.check(env, found)
	for _, scope := range c.Scope {
		if !slices.Contains(jobs.AllScopes(), scope) {
			found.add("scope", "must be of "+strings.Join(jobs.AllScopes(), ", "))
			break
		}
	}
}

// run prints the key alone on standard output, for KEY=$(provisiond keys create …), and all about it
// on standard error.
func (c *keysCreateCmd) run(ctx context.Context, p *process) error {
	return c.withSchema(ctx, func(pool *pgxpool.Pool) error {
		admin := jobs.NewAdmin(pool)
		tenant, err := admin.TenantByName(ctx, c.Tenant)
		if err != nil {
			return err
		}
		key, token, err := admin.CreateKey(ctx, c.newKey(tenant))
		if err != nil {
			return err
		}
		printLine(p.stderr, fmt.Sprintf("%s, kind %s, scopes %s. This is the only time that the key is shown:",
			key.ID, key.Kind, strings.Join(key.Scopes, " ")))
		_, err = fmt.Fprintln(p.stdout, token)
		return err
	})
}

func (c *keysCreateCmd) newKey(tenant jobs.Tenant) jobs.NewKey {
	key := jobs.NewKey{TenantID: tenant.ID, Name: c.Name, Kind: jobs.KeyKind(c.Kind), Scopes: c.Scope}
	if len(key.Scopes) == 0 {
		key.Scopes = defaultScopes(key.Kind)
	}
	if c.ExpiresIn > 0 {
		end := time.Now().Add(c.ExpiresIn)
		key.ExpiresAt = &end
	}
	return key
}

// defaultScopes keep credentials out of an agent's context unless someone decides otherwise.
func defaultScopes(kind jobs.KeyKind) []string {
	return slices.DeleteFunc(jobs.AllScopes(), func(scope string) bool {
		return kind == jobs.KindAgent && scope == jobs.ScopeCredentialsRead
	})
}

type keysListCmd struct {
	databaseOptions
	tenantOption
}

func (c *keysListCmd) check(env lookup, found *problems) {
	c.databaseOptions.check(env, found)
	c.tenantOption.check(env, found)
}

func (c *keysListCmd) run(ctx context.Context, p *process) error {
	return c.withSchema(ctx, func(pool *pgxpool.Pool) error {
		admin := jobs.NewAdmin(pool)
		tenant, err := admin.TenantByName(ctx, c.Tenant)
		if err != nil {
			return err
		}
		keys, err := admin.ListKeys(ctx, tenant.ID)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
		for _, k := range keys {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", k.ID, k.Kind, keyState(k), strings.Join(k.Scopes, ","), k.Name)
		}
		return table.Flush() // with the first error of the writes
	})
}

func keyState(k jobs.Key) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked " + utc(*k.RevokedAt)
	case k.ExpiresAt != nil && k.ExpiresAt.Before(time.Now()):
		return "expired " + utc(*k.ExpiresAt)
	case k.LastUsedAt != nil:
		return "last used " + utc(*k.LastUsedAt)
	default:
		return "never used"
	}
}

type keysRevokeCmd struct {
	databaseOptions

	KeyID string `arg:"" help:"The key's ID, as keys list prints it."`
}

func (c *keysRevokeCmd) run(ctx context.Context, _ *process) error {
	return c.withSchema(ctx, func(pool *pgxpool.Pool) error {
		return jobs.NewAdmin(pool).RevokeKey(ctx, c.KeyID)
	})
}

// tenantOption names the tenant that a command works on.
type tenantOption struct {
	Tenant string `placeholder:"NAME" help:"The tenant's name."`
}

func (o tenantOption) check(_ lookup, found *problems) {
	if o.Tenant == "" {
		found.add("tenant", "is required")
	}
}
