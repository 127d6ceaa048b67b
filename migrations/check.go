package migrations

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/rivermigrate"
)

// ErrBehind is returned by Check when the database lacks migrations of this binary.
var ErrBehind = errors.New("the database schema is behind this release: run `provisiond migrate up`")

// Check tells whether this binary can work on the database. It wraps ErrBehind when migrations are
// missing. A database that is ahead passes: in a rolling deploy the old replicas go on for a while.
// It takes no lock, so it does not wait for a running Up.
func Check(ctx context.Context, pool *pgxpool.Pool) (err error) {
	provider, err := newProvider(pool)
	if err != nil {
		return err
	}
	defer closeProvider(provider, &err)
	pending, err := provider.HasPending(ctx)
	if err != nil {
		return fmt.Errorf("check migrations: %w", err)
	}
	if pending {
		have, want, err := provider.GetVersions(ctx)
		if err != nil {
			return fmt.Errorf("read schema version: %w", err)
		}
		return fmt.Errorf("%w (the database is at version %d, this release needs %d)", ErrBehind, have, want)
	}
	return checkRiver(ctx, pool)
}

func checkRiver(ctx context.Context, pool *pgxpool.Pool) error {
	migrator, err := newRiverMigrator(pool)
	if err != nil {
		return err
	}
	result, err := migrator.Validate(ctx, &rivermigrate.ValidateOpts{TargetVersion: RiverVersion})
	if err != nil {
		return fmt.Errorf("check schema %s: %w", RiverSchema, err)
	}
	if !result.OK {
		return fmt.Errorf("%w (schema %s is not valid: %s)", ErrBehind, RiverSchema, strings.Join(result.Messages, "; "))
	}
	return nil
}
