package postgres

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/internal/pgtest"
)

// Names and passwords with every character that means something in a URI, in SQL or in a shell parse
// back and connect.
func TestConnectionURIConnects(t *testing.T) {
	t.Parallel()
	pool := superuser(t)
	server := connectionConfig(t)
	for name, part := range map[string]string{
		"plain":        "plain",
		"delimiters":   `a@b:c/d?e#f[g]h`,
		"escapes":      `a%2Fb&c=d+e;f,g$h!i*j(k)l|m^n~o`,
		"quotes":       `a"b'c\d` + "`e",
		"spaces":       ` a b  c`,
		"non-ASCII":    `pässwört-Ωλ-й-ş`,
		"lone percent": `%`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suffix := strings.ToLower(rand.Text())[:8]
			// The names are cut to 63 bytes by the server, so they end with what tells them apart.
			user, database, password := part+suffix, "db"+part+suffix, part
			run(t, pool, `CREATE ROLE %I LOGIN PASSWORD %L`, user, password)
			t.Cleanup(func() { run(t, pool, `DROP ROLE %I`, user) })
			run(t, pool, `CREATE DATABASE %I OWNER %I TEMPLATE template0`, database, user)
			t.Cleanup(func() { run(t, pool, `DROP DATABASE %I WITH (FORCE)`, database) })

			conn := connect(t, connectionURI(user, password, server.Host, server.Port, database, "prefer"))
			if got := query[string](t, conn, `SELECT current_user`); got != user {
				t.Errorf("current_user = %q, want %q", got, user)
			}
			if got := query[string](t, conn, `SELECT current_database()`); got != database {
				t.Errorf("current_database() = %q, want %q", got, database)
			}
		})
	}
}

func TestConnectionURIWithIPv6(t *testing.T) {
	t.Parallel()
	config, err := pgx.ParseConfig(connectionURI("u", "p", "2001:db8::1", 5433, "d", "verify-full"))
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "2001:db8::1" || config.Port != 5433 || config.TLSConfig == nil {
		t.Errorf("host %s, port %d, TLS %t", config.Host, config.Port, config.TLSConfig != nil)
	}
}

// The server takes the verifier as it is and checks the password against it.
func TestSCRAMVerifierLogsIn(t *testing.T) {
	t.Parallel()
	pool := superuser(t)
	server := connectionConfig(t)
	user, password := "scram_"+strings.ToLower(rand.Text()), `all of ~!@#$%^&*()_+ "'\ and more`
	verifier, err := scramVerifier(password)
	if err != nil {
		t.Fatal(err)
	}
	run(t, pool, `CREATE ROLE %I LOGIN PASSWORD %L`, user, verifier)
	t.Cleanup(func() { run(t, pool, `DROP ROLE %I`, user) })

	if stored := query[string](t, pool, `SELECT rolpassword FROM pg_authid WHERE rolname = $1`, user); stored != verifier {
		t.Error("the server did not take the verifier as one")
	}
	connect(t, connectionURI(user, password, server.Host, server.Port, "postgres", "prefer"))
	if _, err := pgx.Connect(t.Context(),
		connectionURI(user, password+"x", server.Host, server.Port, "postgres", "prefer")); err == nil {
		t.Error("another password logs in")
	}
}

func connectionConfig(t *testing.T) *pgx.ConnConfig {
	t.Helper()
	config, err := pgx.ParseConfig(pgtest.AdminURL(t))
	if err != nil {
		t.Fatal(err)
	}
	return config
}
