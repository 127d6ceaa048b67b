package postgres

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/provider"
	"github.com/provisiond/provisiond/provider/providertest"
)

// breaks are what a superuser can do to an instance, and its own users to some of it.
func breaks(pool *pgxpool.Pool) map[string]providertest.Break {
	b := breaker{pool}
	return map[string]providertest.Break{
		"database dropped":     {Do: loseDatabase, Want: provider.Missing, Object: "database"},
		"owner role dropped":   {Do: loseInstance, Want: provider.Missing, Object: "role"},
		"login role dropped":   b.login(provider.Missing, `DROP ROLE %1$I`),
		"no login":             b.login(provider.Changed, `ALTER ROLE %1$I NOLOGIN`),
		"login expired":        b.login(provider.Changed, `ALTER ROLE %1$I VALID UNTIL '2020-01-01'`),
		"login will expire":    b.login(provider.Changed, `ALTER ROLE %1$I VALID UNTIL '2999-01-01'`),
		"login with a right":   b.login(provider.Changed, `ALTER ROLE %1$I CREATEROLE`),
		"login limit lifted":   b.login(provider.Changed, `ALTER ROLE %1$I CONNECTION LIMIT -1`),
		"no setting":           b.login(provider.Changed, `ALTER ROLE %1$I RESET role`),
		"no settings":          b.login(provider.Changed, `ALTER ROLE %1$I RESET ALL`),
		"other setting here":   b.login(provider.Changed, `ALTER ROLE %1$I IN DATABASE %2$I SET role = 'none'`),
		"other marker":         b.login(provider.Foreign, `COMMENT ON ROLE %1$I IS 'someone else''s'`),
		"no member":            {Do: b.expel, Want: provider.Changed, Object: "role"},
		"member more":          {Do: b.admit, Want: provider.Foreign, Object: "role"},
		"member of another":    {Do: b.lend, Want: provider.Changed, Object: "role"},
		"owner with a right":   {Do: b.empower, Want: provider.Changed, Object: "role"},
		"a role more":          {Do: b.addRole, Want: provider.Foreign, Object: "role"},
		"database limit":       b.database(provider.Changed, `ALTER DATABASE %I CONNECTION LIMIT 11`),
		"open to all":          b.database(provider.Changed, `GRANT CONNECT ON DATABASE %I TO PUBLIC`),
		"closed to its owner":  b.database(provider.Changed, `REVOKE CONNECT ON DATABASE %1$I FROM %1$I`),
		"open to another":      {Do: b.openTo, Want: provider.Changed, Object: "database"},
		"a template":           b.database(provider.Changed, `ALTER DATABASE %I IS_TEMPLATE true`),
		"takes no connections": b.database(provider.Changed, `ALTER DATABASE %I ALLOW_CONNECTIONS false`),
		"other owner":          {Do: b.giveAway, Want: provider.Foreign, Object: "database"},
		"extension dropped":    {Do: b.dropExtension, Want: provider.Missing, Object: "extension"},
		"cut-off drop":         b.database(provider.Changed, `UPDATE pg_database SET datconnlimit = -2 WHERE datname = %L`),
	}
}

type breaker struct{ pool *pgxpool.Pool }

// login gives the command the login role of the binding and the database.
func (b breaker) login(want provider.FindingKind, command string) providertest.Break {
	return providertest.Break{Want: want, Object: "role", Do: func(t *testing.T, r *provider.Request) {
		t.Helper()
		name := loginName(r.BindingID)
		run(t, b.pool, command, name, ownName(r.InstanceID))
		if want == provider.Foreign {
			t.Cleanup(func() { run(t, b.pool, `DROP ROLE %I`, name) })
		}
	}}
}

func (b breaker) database(want provider.FindingKind, command string) providertest.Break {
	return providertest.Break{Want: want, Object: "database", Do: func(t *testing.T, r *provider.Request) {
		t.Helper()
		run(t, b.pool, command, ownName(r.InstanceID))
	}}
}

func (b breaker) expel(t *testing.T, r *provider.Request) {
	t.Helper()
	// From PostgreSQL 16 on a membership is revoked as its grantor.
	grantor := query[string](t, b.pool, `SELECT g.rolname FROM pg_auth_members a JOIN pg_roles g ON g.oid = grantor
		JOIN pg_roles m ON m.oid = member WHERE m.rolname = $1`, loginName(r.BindingID))
	run(t, b.pool, `REVOKE %I FROM %I GRANTED BY %I`, ownName(r.InstanceID), loginName(r.BindingID), grantor)
}

func (b breaker) addRole(t *testing.T, r *provider.Request) {
	t.Helper()
	other := newRequest(``, nil).BindingID
	plantRole(t, b.pool, loginName(other), "provisiond instance "+r.InstanceID+" binding "+other)
}

// admit lets a stranger work as the owner role.
func (b breaker) admit(t *testing.T, r *provider.Request) {
	t.Helper()
	run(t, b.pool, `GRANT %I TO %I`, ownName(r.InstanceID), b.stranger(t))
}

// lend lets the binding's role work as a stranger.
func (b breaker) lend(t *testing.T, r *provider.Request) {
	t.Helper()
	run(t, b.pool, `GRANT %I TO %I`, b.stranger(t), loginName(r.BindingID))
}

func (b breaker) empower(t *testing.T, r *provider.Request) {
	t.Helper()
	run(t, b.pool, `ALTER ROLE %I SUPERUSER`, ownName(r.InstanceID))
	t.Cleanup(func() { run(t, b.pool, `ALTER ROLE %I NOSUPERUSER`, ownName(r.InstanceID)) })
}

func (b breaker) openTo(t *testing.T, r *provider.Request) {
	t.Helper()
	run(t, b.pool, `GRANT CONNECT ON DATABASE %I TO %I`, ownName(r.InstanceID), b.stranger(t))
}

// stranger makes a role that is none of provisiond's.
func (b breaker) stranger(t *testing.T) string {
	t.Helper()
	name := "stranger_" + strings.ToLower(rand.Text())
	plantRole(t, b.pool, name, "")
	// It goes before the instance does, and with it all grants to it.
	t.Cleanup(func() { run(t, b.pool, `DROP OWNED BY %I`, name) })
	return name
}

func (b breaker) giveAway(t *testing.T, r *provider.Request) {
	t.Helper()
	name := ownName(r.InstanceID)
	run(t, b.pool, `ALTER DATABASE %I OWNER TO CURRENT_USER`, name)
	t.Cleanup(func() { run(t, b.pool, `ALTER DATABASE %I OWNER TO %I`, name, name) })
}

func (b breaker) dropExtension(t *testing.T, r *provider.Request) {
	t.Helper()
	config := b.pool.Config().ConnConfig
	conn := connect(t, connectionURI(config.User, config.Password, config.Host, config.Port, ownName(r.InstanceID), "prefer"))
	exec(t, conn, `DROP EXTENSION citext`)
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
