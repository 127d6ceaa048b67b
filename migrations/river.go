package migrations

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	// RiverSchema is the PostgreSQL schema of River's tables: the value for river.Config.Schema.
	RiverSchema = "river"
	// RiverVersion is the version of River's own migrations that this binary needs: the last one
	// of river v0.51.2. When an upgrade of River brings a newer one, add a migration for it rather
	// than raise the target of the old one, which databases already have on record.
	RiverVersion = 8

	riverStep = 2 // the version of our migration that brings River's schema
)

// riverMigration ignores the database handle that goose gives it: River's driver wants the pool.
func riverMigration(pool *pgxpool.Pool) *goose.Migration {
	up := func(ctx context.Context, _ *sql.DB) error {
		if _, err := pool.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+RiverSchema); err != nil {
			return fmt.Errorf("create schema %s: %w", RiverSchema, err)
		}
		migrator, err := newRiverMigrator(pool)
		if err != nil {
			return err
		}
		// Not MigrateTx: River adds an enum value in one version and uses it in the next, which
		// PostgreSQL forbids within one transaction. A run cut off half-way goes on from there.
		opts := &rivermigrate.MigrateOpts{TargetVersion: RiverVersion}
		if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, opts); err != nil {
			return fmt.Errorf("migrate river: %w", err)
		}
		return nil
	}
	return goose.NewGoMigration(riverStep, &goose.GoFunc{RunDB: up}, nil)
}

func newRiverMigrator(pool *pgxpool.Pool) (*rivermigrate.Migrator[pgx.Tx], error) {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{
		Logger: slog.New(slog.DiscardHandler), // its errors are returned
		Schema: RiverSchema,
	})
	if err != nil {
		return nil, fmt.Errorf("make river migrator: %w", err)
	}
	return migrator, nil
}
