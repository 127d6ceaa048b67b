package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/internal/devpg"
	"github.com/provisiond/provisiond/jobs"
	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/migrations"
)

type devCmd struct {
	replicaOptions
	catalogOption

	Data         string `default:".provisiond" placeholder:"DIR" help:"Where the database, the keyset and the API keys are kept."`
	PostgresPort int    `default:"15432" min:"0" help:"Port of the embedded PostgreSQL. Port 0 takes a free one, but then credentials are good only until the next start."`
}

// run keeps the order of a deployment: the database outlives the replica.
func (c *devCmd) run(ctx context.Context, p *process) error {
	r := &replica{replicaOptions: c.replicaOptions, role: roleAll, log: p.log}
	if err := r.listen(ctx); err != nil {
		return err
	}
	defer r.close()
	server, err := c.startPostgres(ctx, p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		<-server.Done()
		cancel(errServerEnded)
	}()
	err = databaseOptions{DatabaseURL: server.URL()}.withPool(func(pool *pgxpool.Pool) error {
		return c.runOn(ctx, p, r, pool, server.URL())
	})
	if cause := context.Cause(ctx); errors.Is(cause, errServerEnded) {
		err = cause
	}
	return errors.Join(err, stopPostgres(server))
}

var errServerEnded = errors.New("the embedded PostgreSQL ended; the file postgresql.log in --data says why")

// runOn runs the replica on the embedded server's database.
func (c *devCmd) runOn(ctx context.Context, p *process, r *replica, pool *pgxpool.Pool, superuser string) error {
	if err := migrations.Up(ctx, pool); err != nil {
		return err
	}
	admin, err := makeProvisioner(ctx, pool, superuser)
	if err != nil {
		return err
	}
	loaded, err := c.loadFor(p.env, admin, pool)
	if err != nil {
		return err
	}
	sealer, err := devSealer(filepath.Join(c.Data, "keyset.json"))
	if err != nil {
		return err
	}
	if r.service, err = c.newService(pool, loaded, sealer, p.log); err != nil {
		return err
	}
	keys, err := devKeysIn(c.Data).ensure(ctx, r.service, jobs.NewAdmin(pool))
	if err != nil {
		return err
	}
	if err := printWelcome(p.stdout, c.publicURL(r.public), keys); err != nil {
		return err
	}
	return r.run(ctx)
}

// loadFor loads the catalog, the built-in one by default. In it the administrator's URL is that of the
// embedded server; it is put nowhere else, so a driver's child process does not inherit it.
func (c *devCmd) loadFor(env lookup, admin string, pool *pgxpool.Pool) (*catalog.Catalog, error) {
	withAdmin := func(name string) (string, bool) {
		if value, ok := env(name); ok || name != "PROVISIOND_POSTGRES_ADMIN_URL" {
			return value, ok
		}
		return admin, true
	}
	thePool := func() *pgxpool.Pool { return pool }
	if c.Catalog == "" {
		return loadCatalog("built-in catalog", catalog.Builtin(), withAdmin, thePool)
	}
	found := &problems{}
	if loaded := c.load(withAdmin, thePool, found); loaded != nil {
		return loaded, nil
	}
	return nil, found.err()
}

func (c *devCmd) startPostgres(ctx context.Context, p *process) (*devpg.Server, error) {
	dir, err := postgresFolder(c.Data)
	if err != nil {
		return nil, err
	}
	if c.PostgresPort != 0 {
		// The server's own complaint would not say which flag.
		probe, err := listen(ctx, "postgres-port", "127.0.0.1:"+strconv.Itoa(c.PostgresPort))
		if err != nil {
			return nil, err
		}
		_ = probe.Close()
	}
	server, err := devpg.Start(ctx, devpg.Options{DataDir: dir, Port: c.PostgresPort, Logger: p.log})
	if err != nil {
		return nil, fmt.Errorf("start the embedded PostgreSQL: %w", err)
	}
	return server, nil
}

// stopPostgres gives the server time to write its data, and ends it in any case.
func stopPostgres(server *devpg.Server) error {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	return server.Stop(ctx)
}

// withUser is the server's URL with another user and database.
func withUser(server, user, password, database string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", errors.New("the embedded server's URL is not a URL") // the cause would show the password
	}
	u.User = url.UserPassword(user, password)
	u.Path = "/" + database
	return u.String(), nil
}
