package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/internal/pgtest"
	"github.com/provisiond/provisiond/provider"
	"github.com/provisiond/provisiond/provider/providertest"
)

func TestConformanceAsSuperuser(t *testing.T) {
	t.Parallel()
	h := harness(t, superuser(t), pgtest.AdminURL(t))
	h.Odd["extension that needs another"] = providertest.Odd{
		Parameters: map[string]any{"extensions": []any{"earthdistance"}},
	}
	providertest.Run(t, h)
}

func TestConformanceWithoutSuperuser(t *testing.T) {
	t.Parallel()
	pool := superuser(t)
	h := harness(t, pool, newAdmin(t, pool, "CREATEDB CREATEROLE"))
	h.Odd["extension that only a superuser may make"] = providertest.Odd{
		Parameters: map[string]any{"extensions": []any{"file_fdw"}}, Want: provider.ErrRejected, Names: "extension",
	}
	h.RefusedUpdates["extension that only a superuser may make"] = providertest.RefusedUpdate{
		Parameters: map[string]any{"connection_limit": float64(15), "extensions": []any{"citext", "hstore", "file_fdw"}},
		Names:      "extension",
	}
	providertest.Run(t, h)
}

func harness(t *testing.T, pool *pgxpool.Pool, adminURL string) providertest.Harness {
	t.Helper()
	return providertest.Harness{
		Driver:      newDriver(t, adminURL),
		Unreachable: newDriver(t, "postgres://nobody:canary-of-the-unreachable@127.0.0.1:1/none"),
		Settings: json.RawMessage(`{"connection_limit": 20, "locale": "C",
			"extensions": ["citext", "hstore", "earthdistance", "file_fdw", "no_such_extension"]}`),
		Parameters:        map[string]any{"connection_limit": float64(10), "extensions": []any{"citext"}},
		Odd:               maps.Clone(odd),
		Connect:           work,
		Objects:           objectsOn(pool),
		Look:              lookAt(pool),
		Write:             write,
		Read:              read,
		Session:           openSession,
		Updates:           updates,
		RefusedUpdates:    maps.Clone(refusedUpdates),
		Broken:            breaks(pool),
		Foreign:           foreign(pool),
		ForeignBinding:    foreignBinding(pool),
		Secrets:           []string{passwordOf(t, adminURL), "canary-of-the-unreachable"},
		SecretCredentials: []string{"uri", "password"},
	}
}

var odd = map[string]providertest.Odd{
	"no parameters":               {Parameters: map[string]any{"connection_limit": nil, "extensions": nil}},
	"small limit":                 {Parameters: map[string]any{"connection_limit": float64(2)}},
	"limit of zero":               wrong("connection_limit", float64(0)),
	"negative limit":              wrong("connection_limit", float64(-1)),
	"limit over the plan's":       wrong("connection_limit", float64(21)),
	"huge limit":                  wrong("connection_limit", 1e30),
	"half a connection":           wrong("connection_limit", 2.5),
	"limit that is no number":     wrong("connection_limit", "five"),
	"another locale":              {Parameters: map[string]any{"locale": "C.UTF-8"}},
	"unknown locale":              wrong("locale", "xx_XX.UTF-8"),
	"locale that breaks out":      wrong("locale", "C' OWNER postgres --"),
	"locale that is no string":    wrong("locale", true),
	"the same extension twice":    {Parameters: map[string]any{"extensions": []any{"citext", "citext"}}},
	"extension not in the plan":   wrong("extensions", []any{"pg_trgm"}),
	"extension not on the server": wrong("extensions", []any{"no_such_extension"}),
	"extension that breaks out":   wrong("extensions", []any{`citext"; DROP DATABASE postgres; --`}),
	"extensions that are no list": wrong("extensions", "citext"),
}

func wrong(parameter string, value any) providertest.Odd {
	return providertest.Odd{Parameters: map[string]any{parameter: value}, Want: provider.ErrRejected, Names: parameter}
}

// work uses the database: the URI and the parts lead to the same place, and tables can be made.
func work(ctx context.Context, c provider.Credentials) error {
	conn, err := pgx.Connect(ctx, c["uri"])
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	config := conn.Config()
	got := []string{config.User, config.Password, config.Host, strconv.Itoa(int(config.Port)), config.Database}
	want := []string{c["username"], c["password"], c["host"], c["port"], c["database"]}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		return fmt.Errorf("the URI does not say what the other credentials say")
	}
	_, err = conn.Exec(ctx, `CREATE TABLE IF NOT EXISTS note (text text); INSERT INTO note VALUES ('hello')`)
	return err
}

// write and read keep a text in a table of its own.
func write(ctx context.Context, c provider.Credentials, text string) error {
	conn, err := pgx.Connect(ctx, c["uri"])
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `CREATE TABLE IF NOT EXISTS kept (text text); DELETE FROM kept`); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `INSERT INTO kept VALUES ($1)`, text)
	return err
}

func read(ctx context.Context, c provider.Credentials) (text string, err error) {
	conn, err := pgx.Connect(ctx, c["uri"])
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, `SELECT text FROM kept`).Scan(&text)
	return text, err
}

func openSession(t *testing.T, c provider.Credentials) func(context.Context) error {
	t.Helper()
	return connect(t, c["uri"]).Ping
}

// objectsOn finds an instance's objects by their names and memberships. The driver finds them by their
// comments.
func objectsOn(pool *pgxpool.Pool) func(context.Context, string) ([]provider.Object, error) {
	return func(ctx context.Context, instanceID string) ([]provider.Object, error) {
		rows, err := pool.Query(ctx, `
			SELECT 'database', datname FROM pg_database WHERE datname = $1
			UNION ALL
			SELECT 'role', rolname FROM pg_roles WHERE rolname = $1
			UNION ALL
			SELECT 'role', m.rolname FROM pg_auth_members a
				JOIN pg_roles m ON m.oid = a.member JOIN pg_roles o ON o.oid = a.roleid
				WHERE o.rolname = $1 AND m.rolname LIKE 'prov\_u\_%'`, ownName(instanceID))
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowToStructByPos[provider.Object])
	}
}

func ownName(instanceID string) string { return "prov_" + strings.TrimPrefix(instanceID, "inst_") }

func loginName(bindingID string) string { return "prov_u_" + strings.TrimPrefix(bindingID, "bind_") }

func foreign(pool *pgxpool.Pool) map[string]providertest.Plant {
	return map[string]providertest.Plant{
		"role": func(t *testing.T, r *provider.Request) func(*testing.T) {
			t.Helper()
			return plantRole(t, pool, ownName(r.InstanceID), "someone else's")
		},
		"role of an instance with a longer ID": func(t *testing.T, r *provider.Request) func(*testing.T) {
			t.Helper()
			return plantRole(t, pool, ownName(r.InstanceID), "provisiond instance "+r.InstanceID+"0")
		},
		"database": func(t *testing.T, r *provider.Request) func(*testing.T) {
			t.Helper()
			name := ownName(r.InstanceID)
			run(t, pool, `CREATE DATABASE %I TEMPLATE template0`, name)
			run(t, pool, `COMMENT ON DATABASE %I IS %L`, name, "provisiond instance "+r.InstanceID)
			t.Cleanup(func() { run(t, pool, `DROP DATABASE %I`, name) })
			return func(t *testing.T) {
				t.Helper()
				if !query[bool](t, pool, `SELECT EXISTS (SELECT FROM pg_database
					WHERE datname = $1 AND datdba = (SELECT oid FROM pg_roles WHERE rolname = current_user))`, name) {
					t.Error("the foreign database is gone or has another owner")
				}
			}
		},
	}
}

func foreignBinding(pool *pgxpool.Pool) map[string]providertest.Plant {
	return map[string]providertest.Plant{
		"role": func(t *testing.T, r *provider.Request) func(*testing.T) {
			t.Helper()
			return plantRole(t, pool, loginName(r.BindingID), "someone else's")
		},
	}
}

func plantRole(t *testing.T, pool *pgxpool.Pool, name, comment string) func(*testing.T) {
	t.Helper()
	run(t, pool, `CREATE ROLE %I`, name)
	run(t, pool, `COMMENT ON ROLE %I IS %L`, name, comment)
	t.Cleanup(func() { run(t, pool, `DROP ROLE %I`, name) })
	return func(t *testing.T) {
		t.Helper()
		if !query[bool](t, pool, `SELECT EXISTS (SELECT FROM pg_roles
			WHERE rolname = $1 AND shobj_description(oid, 'pg_authid') = $2 AND NOT rolcanlogin)`, name, comment) {
			t.Error("the foreign role is gone or was altered")
		}
	}
}
