// Package migrations holds the database schema and brings a database to it.
//
// Each migration must suit the release before it: replicas are replaced one at a time, so for a
// while the old binary runs on the new schema.
package migrations

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// minConns is what Up needs at the same time: one connection holds the lock, one runs River's
// migrations.
const minConns = 2

//go:embed *.sql
var files embed.FS

// Files returns the SQL migrations, one file a version.
func Files() fs.FS { return files }

// Up applies what the database lacks. It may be called by many replicas at once: they queue for a
// session lock and all but the first find nothing to do. A database that is ahead of this binary is
// left as it is. The pool must allow two connections or more.
func Up(ctx context.Context, pool *pgxpool.Pool) error {
	return upTo(ctx, pool, goose.MaxVersion)
}

func upTo(ctx context.Context, pool *pgxpool.Pool, version int64) (err error) {
	if n := pool.Config().MaxConns; n < minConns {
		return fmt.Errorf("migrate: the pool must allow %d connections, it allows %d", minConns, n)
	}
	provider, err := newProvider(pool)
	if err != nil {
		return err
	}
	defer closeProvider(provider, &err)
	if _, err := provider.UpTo(ctx, version); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// Migration is one line of Status.
type Migration struct {
	Version   int64
	Name      string
	AppliedAt time.Time // zero when it is still to be applied
}

// Status lists the migrations of this binary in order. It waits for a running Up.
func Status(ctx context.Context, pool *pgxpool.Pool) (_ []Migration, err error) {
	provider, err := newProvider(pool)
	if err != nil {
		return nil, err
	}
	defer closeProvider(provider, &err)
	statuses, err := provider.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("read migration status: %w", err)
	}
	list := make([]Migration, len(statuses))
	for i, s := range statuses {
		list[i] = Migration{Version: s.Source.Version, Name: name(s.Source), AppliedAt: s.AppliedAt}
	}
	return list, nil
}

func name(s *goose.Source) string {
	if s.Version == riverStep {
		return fmt.Sprintf("river schema, version %d", RiverVersion)
	}
	return s.Path
}

// newProvider makes a goose provider on connections of the pool. Its Close gives them back and
// leaves the pool open.
func newProvider(pool *pgxpool.Pool) (*goose.Provider, error) {
	// Replicas that start together wait for the first: look every second, for five minutes.
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return nil, fmt.Errorf("make migration lock: %w", err)
	}
	db := stdlib.OpenDBFromPool(pool)
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithSessionLocker(locker),
		goose.WithGoMigrations(riverMigration(pool)),
		goose.WithDisableGlobalRegistry(true),
	)
	if err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return provider, nil
}

func closeProvider(provider *goose.Provider, err *error) {
	if closeErr := provider.Close(); closeErr != nil && *err == nil {
		*err = fmt.Errorf("close migration connections: %w", closeErr)
	}
}
