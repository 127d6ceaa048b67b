package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/migrations"
)

// schemaHash names the databases made from these migrations, so that a server that outlives a change
// of them does not give out the old schema.
var schemaHash = sync.OnceValues(func() (string, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "river %d\n", migrations.RiverVersion)
	err := fs.WalkDir(migrations.Files(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(migrations.Files(), path)
		fmt.Fprintf(hash, "%s %d\n%s", path, len(data), data)
		return err
	})
	return hex.EncodeToString(hash.Sum(nil)[:8]), err
})

// template returns the name of the migrated database that tests clone. Nothing may connect to it, or
// cloning fails.
func (s *server) template(ctx context.Context) (string, error) {
	return s.ensure(ctx, "template_", func(ctx context.Context, name string) error {
		if err := s.clone(ctx, name, "template0"); err != nil {
			return err
		}
		pool, err := newPool(ctx, s.databaseURL(name), maxConns)
		if err != nil {
			return err
		}
		defer pool.Close()
		return migrations.Up(ctx, pool)
	})
}

// shared returns the name of the database of Tx.
func (s *server) shared(ctx context.Context) (string, error) {
	template, err := s.template(ctx)
	if err != nil {
		return "", err
	}
	return s.ensure(ctx, "shared_", func(ctx context.Context, name string) error {
		return s.clone(ctx, name, template)
	})
}

// ensure makes a database once for all test binaries. It is made under another name first: a binary
// may be killed half-way.
func (s *server) ensure(ctx context.Context, prefix string, create func(context.Context, string) error) (string, error) {
	hash, err := schemaHash()
	if err != nil {
		return "", fmt.Errorf("hash migrations: %w", err)
	}
	name := prefix + hash
	err = s.locked(ctx, name, func() error {
		var exists bool
		err := s.admin.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists)
		if err != nil || exists {
			return err
		}
		unfinished := name + "_new"
		if _, err := s.admin.Exec(ctx, "DROP DATABASE IF EXISTS "+unfinished+" WITH (FORCE)"); err != nil {
			return err
		}
		if err := create(ctx, unfinished); err != nil {
			return err
		}
		_, err = s.admin.Exec(ctx, "ALTER DATABASE "+unfinished+" RENAME TO "+name)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("make database %s: %w", name, err)
	}
	return name, nil
}

// locked runs f while no other test binary, or test of this one, runs one under the same name.
func (s *server) locked(ctx context.Context, name string, f func() error) error {
	return s.admin.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtextextended($1, 0))", name); err != nil {
			return err
		}
		err := f()
		if _, unlockErr := conn.Exec(ctx, "SELECT pg_advisory_unlock(hashtextextended($1, 0))", name); err == nil {
			err = unlockErr
		}
		return err
	})
}

func (s *server) clone(ctx context.Context, name, template string) error {
	_, err := s.admin.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+template+s.cloneOptions)
	if err != nil {
		return fmt.Errorf("clone database %s: %w", template, err)
	}
	return nil
}
