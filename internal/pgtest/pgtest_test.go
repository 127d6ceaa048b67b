package pgtest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/internal/pgtest"
	"github.com/provisiond/provisiond/migrations"
)

type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func addTenant(t *testing.T, db querier) {
	t.Helper()
	if _, err := db.Exec(t.Context(), "INSERT INTO tenant (id, name) VALUES ('tnt_1', 'one')"); err != nil {
		t.Fatal(err)
	}
}

func tenants(t *testing.T, db querier) int {
	t.Helper()
	var n int
	if err := db.QueryRow(t.Context(), "SELECT count(*) FROM tenant").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func databaseExists(t *testing.T, name string) bool {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.AdminURL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	var exists bool
	err = conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists)
	if err != nil {
		t.Fatal(err)
	}
	return exists
}

func TestPoolIsMigratedAndTheTestsOwn(t *testing.T) {
	t.Parallel()
	one, other := pgtest.Pool(t), pgtest.Pool(t)
	if err := migrations.Check(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	addTenant(t, one)
	if n := tenants(t, other); n != 0 {
		t.Errorf("another test's database has %d tenants", n)
	}
}

//nolint:tparallel // looks at what the subtest leaves
func TestDatabaseGoesWithItsTest(t *testing.T) {
	t.Parallel()
	var config *pgx.ConnConfig
	t.Run("", func(t *testing.T) {
		var err error
		if config, err = pgx.ParseConfig(pgtest.URL(t)); err != nil {
			t.Fatal(err)
		}
		// A connection left open must not keep the database.
		if _, err := pgx.ConnectConfig(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		if !databaseExists(t, config.Database) {
			t.Error("there is no such database")
		}
	})
	if databaseExists(t, config.Database) {
		t.Error("the database outlived its test")
	}
}

//nolint:tparallel // as above
func TestTxIsRolledBack(t *testing.T) {
	t.Parallel()
	t.Run("first", func(t *testing.T) { addTenant(t, pgtest.Tx(t)) })
	if n := tenants(t, pgtest.Tx(t)); n != 0 {
		t.Errorf("%d tenants are left from another test", n)
	}
}

// The cleanup of a test that ended its transaction by itself has nothing to do.
func TestTxMayBeEndedByTheTest(t *testing.T) {
	t.Parallel()
	if err := pgtest.Tx(t).Rollback(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestEmptyURL(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), pgtest.EmptyURL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := migrations.Check(t.Context(), pool); !errors.Is(err, migrations.ErrBehind) {
		t.Errorf("error %v, want an empty database to be behind", err)
	}
}

func TestAdminIsSuperuser(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), pgtest.AdminURL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	var super string
	if err := conn.QueryRow(t.Context(), "SHOW is_superuser").Scan(&super); err != nil || super != "on" {
		t.Errorf("is_superuser is %q, error %v", super, err)
	}
}

func BenchmarkPool(b *testing.B) {
	pgtest.URL(b) // the server and the template
	for b.Loop() {
		if err := pgtest.Pool(b).Ping(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTx(b *testing.B) {
	pgtest.Tx(b) // the server and the shared database
	for b.Loop() {
		if err := pgtest.Tx(b).Rollback(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
