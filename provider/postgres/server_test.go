package postgres

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/internal/pgtest"
	"github.com/provisiond/provisiond/provider"
)

// superuser returns the superuser's own view of the server.
func superuser(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), pgtest.AdminURL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// newDriver makes a driver whose administrator has the URL.
func newDriver(t *testing.T, adminURL string) provider.Driver {
	t.Helper()
	config, err := json.Marshal(map[string]string{"admin_url": adminURL})
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// newAdmin makes a role with the attributes and returns its URL.
func newAdmin(t *testing.T, pool *pgxpool.Pool, attributes string) string {
	t.Helper()
	name, password := "admin_"+strings.ToLower(rand.Text()), rand.Text()
	run(t, pool, `CREATE ROLE %I LOGIN `+attributes+` PASSWORD %L`, name, password)
	t.Cleanup(func() {
		run(t, pool, `DROP OWNED BY %I`, name)
		run(t, pool, `DROP ROLE %I`, name)
	})
	u, err := url.Parse(pgtest.AdminURL(t))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(name, password)
	return u.String()
}

func passwordOf(t *testing.T, adminURL string) string {
	t.Helper()
	config, err := pgx.ParseConfig(adminURL)
	if err != nil {
		t.Fatal(err)
	}
	return config.Password
}

// run executes a command as the superuser, also during clean-up.
func run(t *testing.T, pool *pgxpool.Pool, command string, args ...string) {
	t.Helper()
	if err := ddl(context.Background(), pool, command, args...); err != nil {
		t.Errorf("%s: %v", command, err)
	}
}

// query returns the one value of the query.
func query[T any](t *testing.T, q querier, sql string, args ...any) T {
	t.Helper()
	var value T
	if err := q.QueryRow(t.Context(), sql, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

// newRequest is a request for a new instance, as the core makes it but with nothing to keep.
func newRequest(settings string, parameters map[string]any) *provider.Request {
	suffix := func() string { return strings.ToLower(rand.Text()) }
	return &provider.Request{
		InstanceID: "inst_" + suffix(),
		BindingID:  "bind_" + suffix(),
		Settings:   json.RawMessage(settings),
		Parameters: parameters,
		Checkpoint: func(context.Context, []byte) error { return nil },
		Report:     func(context.Context, provider.Progress) error { return nil },
	}
}

// provision makes an instance that is removed when the test ends.
func provision(t *testing.T, d provider.Driver, r *provider.Request) {
	t.Helper()
	t.Cleanup(func() { deprovision(t, d, r) })
	if _, err := d.Provision(t.Context(), r); err != nil {
		t.Fatalf("Provision: %v", err)
	}
}

// deprovision tries again as the core does: the server's autovacuum may be in the database.
func deprovision(t *testing.T, d provider.Driver, r *provider.Request) {
	t.Helper()
	var err error
	eventually(t, "Deprovision ends", func() bool {
		err = d.Deprovision(context.Background(), r)
		failure, ok := errors.AsType[*provider.Error](err)
		return !ok || !failure.Retryable
	})
	if err != nil {
		t.Errorf("Deprovision: %v", err)
	}
}

// eventually asks the server again until it is so, also during clean-up.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for !is() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			t.Errorf("not within a minute: %s", what)
			return
		}
	}
}

// bind makes credentials and connects with them until the test ends.
func bind(t *testing.T, d provider.Driver, r *provider.Request) (provider.Credentials, *pgx.Conn) {
	t.Helper()
	c, err := d.Bind(t.Context(), r)
	if err != nil {
		t.Fatalf("Bind: %v", err)
	}
	return c, connect(t, c["uri"])
}

func connect(t *testing.T, uri string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}
