package migrations_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/internal/pgtest"
	"github.com/provisiond/provisiond/migrations"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pool   func(*testing.T) *pgxpool.Pool
		change string
		behind bool
	}{
		"empty":            {pool: emptyPool, behind: true},
		"migrated":         {pool: migratedPool},
		"behind":           {pool: migratedPool, change: "DELETE FROM goose_db_version WHERE version_id > 1", behind: true},
		"ahead":            {pool: migratedPool, change: "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)"},
		"river behind":     {pool: migratedPool, change: "DELETE FROM river.river_migration WHERE version = 8", behind: true},
		"river ahead":      {pool: migratedPool, change: "INSERT INTO river.river_migration (line, version) VALUES ('main', 99)"},
		"river is missing": {pool: migratedPool, change: "DROP SCHEMA river CASCADE", behind: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := test.pool(t)
			if _, err := pool.Exec(t.Context(), test.change); err != nil {
				t.Fatal(err)
			}
			err := migrations.Check(t.Context(), pool)
			if errors.Is(err, migrations.ErrBehind) != test.behind || (err != nil) != test.behind {
				t.Errorf("error %v, want behind: %t", err, test.behind)
			}
		})
	}
}

func migratedPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	return pgtest.Pool(t)
}

func TestUpLeavesNewerDatabaseAlone(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	_, err := pool.Exec(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)")
	if err != nil {
		t.Fatal(err)
	}
	before := schema(t, pool)
	up(t, pool)
	if after := schema(t, pool); len(after) != len(before) {
		t.Errorf("schema changed from %d to %d objects", len(before), len(after))
	}
}
