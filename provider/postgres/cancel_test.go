package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/provisiond/provisiond/internal/pgtest"
)

// A CREATE DATABASE whose job is canceled has ended on the server when Provision returns. Else it could
// make the database after the clean-up had found none.
func TestCanceledCreateEndsOnTheServer(t *testing.T) {
	t.Parallel()
	pool := superuser(t)
	d := newDriver(t, pgtest.AdminURL(t))
	r := newRequest(`{}`, nil)
	name := ownName(r.InstanceID)

	// An uncommitted DROP of the owner role makes CREATE DATABASE wait in its middle.
	blocker, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer blocker.Rollback(context.Background()) //nolint:errcheck // it has ended when the test passes
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.Checkpoint = func(ctx context.Context, state []byte) error {
		if !strings.Contains(string(state), "create_database") {
			return nil
		}
		go func() {
			eventually(t, "the create waits", func() bool { return creates(t, pool, name) })
			cancel()
		}()
		return ddl(ctx, blocker, `DROP ROLE %I`, name)
	}
	if _, err := d.Provision(ctx, r); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want %v", err, context.Canceled)
	}
	if creates(t, pool, name) {
		t.Error("the create still waits")
	}
	if err := blocker.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}

	s := &session{connect(t, pgtest.AdminURL(t))}
	n, err := namesOf(r)
	if err != nil {
		t.Fatal(err)
	}
	if have, err := s.inspect(t.Context(), n); err != nil || !have.owner || have.database {
		t.Errorf("inspect = %+v, %v; want the owner role alone", have, err)
	}
	r.Checkpoint = newRequest(`{}`, nil).Checkpoint
	provision(t, d, r)
}

// creates reports whether a CREATE DATABASE of the name waits for a lock.
func creates(t *testing.T, q querier, name string) bool {
	t.Helper()
	var waits bool
	err := q.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'
		AND starts_with(query, 'CREATE DATABASE ' || quote_ident($1)))`, name).Scan(&waits)
	if err != nil {
		t.Errorf("pg_stat_activity: %v", err)
	}
	return waits
}
