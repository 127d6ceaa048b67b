package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// provisioner is the role that makes the databases of dev's tenants. It is no superuser and may not
// even connect to the database with provisiond's tables.
const provisioner = "provisiond_provisioner"

// makeProvisioner makes the role, or gives it a new password, and closes the server's own databases to
// all other roles. It returns the URL to log in by.
func makeProvisioner(ctx context.Context, pool *pgxpool.Pool, superuser string) (string, error) {
	password := rand.Text() // letters and digits, so it needs no quoting
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			DO $$ BEGIN
				IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '`+provisioner+`') THEN
					CREATE ROLE `+provisioner+` LOGIN CREATEDB CREATEROLE;
				END IF;
			END $$;
			ALTER ROLE `+provisioner+` PASSWORD '`+password+`';
			REVOKE CONNECT ON DATABASE provisiond, postgres FROM PUBLIC;
			GRANT CONNECT ON DATABASE postgres TO `+provisioner)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("make role %s: %w", provisioner, err)
	}
	return withUser(superuser, provisioner, password, "postgres")
}

// postgresFolder makes dev's folder and returns where the server keeps its data: within, unless root
// keeps that from others. PostgreSQL does not run as root, so then it gets a folder that is always the
// same for the same dev folder.
func postgresFolder(data string) (string, error) {
	data, err := filepath.Abs(data)
	if err != nil {
		return "", fmt.Errorf("--data: %w", err)
	}
	// The server's user has to enter it. What is secret in it has a mode of its own.
	if err := os.MkdirAll(data, 0o755); err != nil { //nolint:gosec // see above
		return "", fmt.Errorf("--data: %w", err)
	}
	if os.Geteuid() != 0 || othersMayEnter(data) {
		return filepath.Join(data, "postgresql"), nil
	}
	sum := sha256.Sum256([]byte(data))
	return fmt.Sprintf("/var/lib/provisiond-dev/%x/postgresql", sum[:8]), nil
}

// othersMayEnter reports whether users other than the owner and the group may enter the folder.
func othersMayEnter(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o001 == 0 {
		return false
	}
	parent := filepath.Dir(dir)
	return parent == dir || othersMayEnter(parent)
}
