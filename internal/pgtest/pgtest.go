// Package pgtest gives tests a real PostgreSQL.
//
// All test binaries of a `go test ./...` share one server, which the first to need it starts and
// which stops by itself when none has used it for a while: see keeper.go. It trades durability for
// speed. Set PROVISIOND_TEST_DATABASE_URL to a superuser's URL to use another server.
//
// Take Tx where a transaction is enough, for it costs next to nothing; Pool where the code under
// test needs transactions of its own, locks or NOTIFY.
package pgtest

import (
	"context"
	"crypto/rand"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// timeout bounds each step of set-up and clean-up. It only has to beat the default limit of go test,
// so that a broken server gives its reason.
const timeout = 2 * time.Minute

// maxConns of a test's pool: enough for tests of races. The server takes 300 in all.
const maxConns = 16

// Pool returns a pool on a new, migrated database that is the test's own.
func Pool(tb testing.TB) *pgxpool.Pool {
	tb.Helper()
	config, err := pgxpool.ParseConfig(URL(tb))
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	config.MaxConns = maxConns
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(pool.Close)
	return pool
}

// URL returns the URL of a new, migrated database that is the test's own. What is still connected
// when the test ends is cut off.
func URL(tb testing.TB) string {
	tb.Helper()
	return create(tb, func(ctx context.Context, s *server, name string) error {
		template, err := s.template(ctx)
		if err != nil {
			return err
		}
		return s.clone(ctx, name, template)
	})
}

// EmptyURL returns the URL of a new database without tables.
func EmptyURL(tb testing.TB) string {
	tb.Helper()
	return create(tb, func(ctx context.Context, s *server, name string) error {
		return s.clone(ctx, name, "template0")
	})
}

// Tx returns a transaction on a migrated database that all tests share. It is rolled back when the
// test ends, so tests see nothing of each other.
func Tx(tb testing.TB) pgx.Tx {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	pool, err := theSharedPool()
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tx, err := pool.Begin(ctx)
	if err != nil {
		tb.Fatalf("pgtest: begin: %v", err)
	}
	tb.Cleanup(func() {
		// Not the test's context, which has ended by now. An error means that the test has ended
		// the transaction or broken the connection, which the pool then drops.
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		_ = tx.Rollback(ctx)
	})
	return tx
}

// AdminURL returns the superuser's URL of the server, for tests that make roles and databases of
// their own. They must name them uniquely and remove them.
func AdminURL(tb testing.TB) string {
	tb.Helper()
	return connect(tb).url
}

func create(tb testing.TB, fill func(context.Context, *server, string) error) string {
	tb.Helper()
	s := connect(tb)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	name := "test_" + strings.ToLower(rand.Text())
	if err := fill(ctx, s, name); err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		if _, err := s.admin.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			tb.Errorf("pgtest: drop database: %v", err)
		}
	})
	return s.databaseURL(name)
}

func connect(tb testing.TB) *server {
	tb.Helper()
	s, err := theServer()
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	return s
}

// databaseURL is the server's URL with another database.
func (s *server) databaseURL(name string) string {
	u := *s.parsed
	u.Path = "/" + url.PathEscape(name)
	return u.String()
}
