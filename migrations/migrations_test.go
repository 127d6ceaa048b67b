package migrations_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"golang.org/x/sync/errgroup"

	"github.com/provisiond/provisiond/internal/pgtest"
	"github.com/provisiond/provisiond/migrations"
)

func openPool(t *testing.T, url string, maxConns int32) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = maxConns
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// emptyPool has as few connections as Up allows, to show that it needs no more.
func emptyPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	return openPool(t, pgtest.EmptyURL(t), 2)
}

func up(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	if err := migrations.Up(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
}

func TestUpByManyReplicasAtOnce(t *testing.T) {
	t.Parallel()
	const rounds, replicas = 3, 8
	for range rounds {
		url := pgtest.EmptyURL(t)
		var group errgroup.Group
		for range replicas {
			pool := openPool(t, url, 2)
			group.Go(func() error { return migrations.Up(t.Context(), pool) })
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		pool := openPool(t, url, 2)
		if err := migrations.Check(t.Context(), pool); err != nil {
			t.Error(err)
		}
		if twice := scan(t, pool, `SELECT version_id::text FROM goose_db_version GROUP BY 1 HAVING count(*) > 1`); len(twice) > 0 {
			t.Errorf("versions applied more than once: %v", twice)
		}
	}
}

func TestUpFromEachVersionEqualsFresh(t *testing.T) {
	t.Parallel()
	fresh := emptyPool(t)
	up(t, fresh)
	want := schema(t, fresh)
	list, err := migrations.Status(t.Context(), fresh)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		pool := emptyPool(t)
		if err := migrations.UpTo(t.Context(), pool, m.Version); err != nil {
			t.Fatal(err)
		}
		up(t, pool)
		if diff := cmp.Diff(want, schema(t, pool)); diff != "" {
			t.Errorf("upgrade from version %d differs from a fresh database (-fresh +upgraded):\n%s", m.Version, diff)
		}
	}
}

// River's migrations commit one by one, so a process may die between two.
func TestUpResumesRiverMigration(t *testing.T) {
	t.Parallel()
	pool := emptyPool(t)
	if err := migrations.UpTo(t.Context(), pool, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), "CREATE SCHEMA "+migrations.RiverSchema); err != nil {
		t.Fatal(err)
	}
	_, err := riverMigrator(t, pool).Migrate(t.Context(), rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: 4})
	if err != nil {
		t.Fatal(err)
	}
	up(t, pool)
	if err := migrations.Check(t.Context(), pool); err != nil {
		t.Error(err)
	}
}

func TestRiverVersionIsLatest(t *testing.T) {
	t.Parallel()
	versions := riverMigrator(t, pgtest.Pool(t)).AllVersions()
	if latest := versions[len(versions)-1].Version; latest != migrations.RiverVersion {
		t.Errorf("this River ships schema version %d, RiverVersion is %d: add a migration", latest, migrations.RiverVersion)
	}
}

func riverMigrator(t *testing.T, pool *pgxpool.Pool) *rivermigrate.Migrator[pgx.Tx] {
	t.Helper()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: migrations.RiverSchema})
	if err != nil {
		t.Fatal(err)
	}
	return migrator
}

func TestUpRefusesTooSmallPool(t *testing.T) {
	t.Parallel()
	err := migrations.Up(t.Context(), openPool(t, pgtest.EmptyURL(t), 1))
	if want := "migrate: the pool must allow 2 connections, it allows 1"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestUpStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := migrations.Up(ctx, emptyPool(t)); err == nil {
		t.Error("no error")
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	pool := emptyPool(t)
	if err := migrations.UpTo(t.Context(), pool, 1); err != nil {
		t.Fatal(err)
	}
	list, err := migrations.Status(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	want := []migrations.Migration{
		{Version: 1, Name: "00001_init.sql", AppliedAt: list[0].AppliedAt},
		{Version: 2, Name: "river schema, version 8"},
	}
	if diff := cmp.Diff(want, list[:2], cmpopts.EquateApproxTime(time.Microsecond)); diff != "" {
		t.Error(diff)
	}
	if list[0].AppliedAt.IsZero() {
		t.Error("version 1 is applied and has no time")
	}
}
