package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/jobs"
	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/provider"
	"github.com/provisiond/provisiond/provider/postgres"
	"github.com/provisiond/provisiond/provider/sandbox"
)

// drivers are those that a catalog can name. The pool is for the sandbox, which keeps what it
// pretends to make in provisiond's database; it is asked for when a job runs.
func drivers(pool func() *pgxpool.Pool) map[string]provider.Factory {
	return map[string]provider.Factory{
		"postgres": postgres.New,
		"sandbox":  sandbox.Factory(pool),
	}
}

// catalogOption names the catalog file.
type catalogOption struct {
	Catalog string `placeholder:"FILE" help:"YAML file of the services to offer; $${NAME} and $${NAME:-default} in it are variables."`
}

// load reads the catalog. It notes all that is wrong with it, and returns nil then.
func (o catalogOption) load(env lookup, pool func() *pgxpool.Pool, found *problems) *catalog.Catalog {
	if o.Catalog == "" {
		found.add("catalog", "is required")
		return nil
	}
	data, err := os.ReadFile(o.Catalog)
	if err != nil {
		found.add("catalog", "must be a file that can be read: "+err.Error())
		return nil
	}
	loaded, err := loadCatalog(o.Catalog, data, env, pool)
	if err != nil {
		found.add("catalog", "must be a good catalog:\n"+err.Error())
		return nil
	}
	return loaded
}

func loadCatalog(name string, data []byte, env lookup, pool func() *pgxpool.Pool) (*catalog.Catalog, error) {
	return catalog.Load(name, data, withSecretFiles(env), drivers(pool))
}

// withSecretFiles lets each variable of a catalog come from a file too, as provisiond's own secrets
// may: NAME or NAME_FILE. A file that cannot be read counts as a variable that is not set.
func withSecretFiles(env lookup) lookup {
	return func(name string) (string, bool) {
		if value, ok := env(name); ok {
			return value, true
		}
		value, ok, _ := readSecretFile(env, name)
		return value, ok
	}
}

type catalogCheckCmd struct {
	databaseOptions
	keysetOption

	File            string `arg:"" help:"The catalog file."`
	AgainstDatabase bool   `help:"Also warn of what it would do to the instances and jobs in the database."`
	Strict          bool   `help:"With --against-database: exit with 1 where there is a warning."`

	keyset *jobs.Sealer
}

func (c *catalogCheckCmd) check(env lookup, found *problems) {
	switch {
	case c.AgainstDatabase:
		c.databaseOptions.check(env, found)
		if c.KeysetFile != "" {
			c.keyset = c.readSealer(found)
		}
	case c.Strict:
		found.add("strict", "needs --against-database")
	}
}

// run exits with an error for a bad catalog, one line for each fault, as linters do.
func (c *catalogCheckCmd) run(ctx context.Context, p *process) error {
	data, err := os.ReadFile(c.File)
	if err != nil {
		return fmt.Errorf("read catalog: %w", err)
	}
	loaded, err := loadCatalog(c.File, data, p.env, nil)
	if err != nil {
		return fmt.Errorf("the catalog has errors:\n%w", err)
	}
	plans := 0
	for _, service := range loaded.Services {
		plans += len(service.Plans)
	}
	_, err = fmt.Fprintf(p.stdout, "%s: good: services %d, plans %d\n", c.File, len(loaded.Services), plans)
	if err != nil || !c.AgainstDatabase {
		return err
	}
	return c.warn(ctx, p, loaded)
}

// warn prints what the catalog does to what lives, one line for each effect on a plan. What it cannot tell is a
// note, and no warning.
func (c *catalogCheckCmd) warn(ctx context.Context, p *process, loaded *catalog.Catalog) error {
	return c.withOperator(ctx, p, func(o *jobs.Operator) error {
		effects, err := o.CheckCatalog(ctx, loaded, c.keyset)
		if err != nil {
			return err
		}
		warnings := 0
		for _, e := range effects {
			kind := "note"
			if e.Effect != jobs.ConfigurationUnknown {
				kind = "warning"
				warnings++
			}
			_, err := fmt.Fprintf(p.stdout, "%s: %s: %s/%s: %s (%s)\n", c.File, kind, e.Service, e.Plan, e.Effect, some(e.IDs))
			if err != nil {
				return err
			}
		}
		if c.keyset == nil {
			_, err := fmt.Fprintf(p.stdout, "%s: note: whether provider configuration moved is seen only with --keyset-file, the replicas'\n", c.File)
			if err != nil {
				return err
			}
		}
		if c.Strict && warnings > 0 {
			return fmt.Errorf("the catalog changes things for what lives: %d warnings", warnings)
		}
		return nil
	})
}

// some counts IDs and names the first.
func some(ids []string) string {
	const named = 10
	text := fmt.Sprintf("%d: %s", len(ids), strings.Join(ids[:min(named, len(ids))], " "))
	if len(ids) > named {
		text += " …"
	}
	return text
}
