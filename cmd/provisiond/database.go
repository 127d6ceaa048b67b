package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/migrations"
)

// defaultMaxConns is the size of the pool unless the URL sets pool_max_conns. pgx's own default, one
// connection a CPU, would make an API on two CPUs wait for its workers.
const defaultMaxConns = 20

// idleInTransaction is when the server ends a transaction whose client has fallen silent. All of ours
// take milliseconds, but a process may be frozen or cut off within one, and the locks that it holds
// would keep others off its job for as long.
const idleInTransaction = "5s"

// databaseOptions name provisiond's own database.
type databaseOptions struct {
	DatabaseURL string `name:"database-url" secret:"" placeholder:"URL" help:"PostgreSQL database with provisiond's tables."`
}

func (o databaseOptions) check(_ lookup, found *problems) {
	if o.DatabaseURL == "" {
		found.add("database-url", "is required")
	} else if _, err := o.config(); err != nil {
		found.add("database-url", err.Error())
	}
}

func (o databaseOptions) config() (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(o.DatabaseURL)
	if err != nil {
		// The parser's own error may quote the URL with its password.
		return nil, errors.New("must be a PostgreSQL URL or keyword string")
	}
	if !strings.Contains(o.DatabaseURL, "pool_max_conns") {
		config.MaxConns = defaultMaxConns
	}
	config.ConnConfig.RuntimeParams["application_name"] = "provisiond"
	config.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = idleInTransaction
	return config, nil
}

// pool makes a pool that connects when it is first used.
func (o databaseOptions) pool() (*pgxpool.Pool, error) {
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	// Not a command's context: the pool lives until it is closed.
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, fmt.Errorf("make connection pool: %w", err)
	}
	return pool, nil
}

// withPool gives do a pool and closes it afterwards.
func (o databaseOptions) withPool(do func(pool *pgxpool.Pool) error) error {
	pool, err := o.pool()
	if err != nil {
		return err
	}
	defer pool.Close()
	return do(pool)
}

// withSchema is withPool for commands that need the tables: without them it says how to make them.
func (o databaseOptions) withSchema(ctx context.Context, do func(pool *pgxpool.Pool) error) error {
	return o.withPool(func(pool *pgxpool.Pool) error {
		if err := migrations.Check(ctx, pool); err != nil {
			return err
		}
		return do(pool)
	})
}

// awaitDatabase returns when the database answers: replicas and their database often start together.
// It gives up after the timeout.
func awaitDatabase(ctx context.Context, pool *pgxpool.Pool, timeout time.Duration, log *slog.Logger) error {
	const pause = time.Second
	giveUp := time.Now().Add(timeout)
	for {
		err := ping(ctx, pool)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if time.Now().After(giveUp) {
			return fmt.Errorf("the database did not answer within --startup-timeout (%s): %w", timeout, err)
		}
		log.WarnContext(ctx, "the database does not answer yet", "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// ping has a limit of its own: a host that drops packets would use up the whole start.
func ping(ctx context.Context, pool *pgxpool.Pool) error {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	return pool.Ping(ctx)
}
