package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/provisiond/provisiond/internal/pgtest"
	"github.com/provisiond/provisiond/provider"
)

// What one binding makes belongs to the instance: another binding may use, alter and drop it.
func TestObjectsBelongToTheInstance(t *testing.T) {
	t.Parallel()
	d := newDriver(t, pgtest.AdminURL(t))
	r := newRequest(`{}`, nil)
	provision(t, d, r)
	_, first := bind(t, d, r)
	exec(t, first, `CREATE TABLE note (text text)`)
	if owner := query[string](t, first, `SELECT tableowner::text FROM pg_tables WHERE tablename = 'note'`); owner != ownName(r.InstanceID) {
		t.Errorf("the table's owner is %s", owner)
	}

	r2 := *r
	r2.BindingID = newRequest(`{}`, nil).BindingID
	_, second := bind(t, d, &r2)
	exec(t, second, `ALTER TABLE note ADD COLUMN at timestamptz`)
	exec(t, second, `DROP TABLE note`)
}

// Bind again for the same binding: the old password ends, open sessions go on.
func TestBindAgainSetsANewPassword(t *testing.T) {
	t.Parallel()
	d := newDriver(t, pgtest.AdminURL(t))
	r := newRequest(`{}`, nil)
	provision(t, d, r)
	old, session := bind(t, d, r)
	bind(t, d, r)

	_, err := pgx.Connect(t.Context(), old["uri"])
	if state, _ := sqlState(err); state != "28P01" {
		t.Errorf("the old password gives %v, want invalid_password", err)
	}
	exec(t, session, `SELECT 1`)
}

// An instance's credentials open no other instance's database.
func TestInstancesAreApart(t *testing.T) {
	t.Parallel()
	d := newDriver(t, pgtest.AdminURL(t))
	mine, theirs := newRequest(`{}`, nil), newRequest(`{}`, nil)
	provision(t, d, mine)
	provision(t, d, theirs)
	c, _ := bind(t, d, mine)

	config := connectionConfig(t)
	uri := connectionURI(c["username"], c["password"], config.Host, config.Port, ownName(theirs.InstanceID), "prefer")
	_, err := pgx.Connect(t.Context(), uri)
	if state, _ := sqlState(err); state != "42501" {
		t.Errorf("got %v, want insufficient_privilege", err)
	}
}

// The user of a database cannot lift the limit on its connections.
func TestConnectionLimitHolds(t *testing.T) {
	t.Parallel()
	d := newDriver(t, pgtest.AdminURL(t))
	r := newRequest(`{"connection_limit": 3}`, nil)
	provision(t, d, r)
	c, first := bind(t, d, r)
	exec(t, first, `ALTER DATABASE `+pgx.Identifier{c["database"]}.Sanitize()+` CONNECTION LIMIT -1`)
	for range 3 {
		conn, err := pgx.Connect(t.Context(), c["uri"])
		if err != nil {
			if state, _ := sqlState(err); state != "53300" {
				t.Errorf("got %v, want too_many_connections", err)
			}
			return
		}
		defer conn.Close(context.Background())
	}
	t.Error("four connections with a limit of three")
}

// Deprovision ends what a client has open, wherever it is, and removes what it left elsewhere.
func TestDeprovisionEndsSessions(t *testing.T) {
	t.Parallel()
	for name, adminURL := range map[string]string{
		"as superuser":      pgtest.AdminURL(t),
		"without superuser": newAdmin(t, superuser(t), "CREATEDB CREATEROLE"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDriver(t, adminURL)
			r := newRequest(`{}`, nil)
			provision(t, d, r)
			c, here := bind(t, d, r)
			exec(t, here, `BEGIN; CREATE TABLE open (id int)`)
			config := connectionConfig(t)
			there := connect(t, connectionURI(c["username"], c["password"], config.Host, config.Port, config.Database, "prefer"))
			exec(t, there, `SELECT lo_create(0)`)
			exec(t, there, `SET ROLE NONE; SELECT lo_create(0)`)

			deprovision(t, d, r)
			for _, conn := range []*pgx.Conn{here, there} {
				if _, err := conn.Exec(t.Context(), `SELECT 1`); err == nil {
					t.Error("a session outlived its credentials")
				}
			}
		})
	}
}

// An administrator without the rights: a sentence for the operator, nothing made, no second try.
func TestAdministratorWithoutRights(t *testing.T) {
	t.Parallel()
	d := newDriver(t, newAdmin(t, superuser(t), "CREATEDB"))
	_, err := d.Provision(t.Context(), newRequest(`{}`, nil))
	var failure *provider.Error
	if !errors.As(err, &failure) || failure.Code != provider.ErrRejected || failure.Retryable {
		t.Fatalf("got %v, want %s", err, provider.ErrRejected)
	}
	const want = "Could not create the owner role: the PostgreSQL administrator lacks the right to. An operator must grant it."
	if failure.Message != want {
		t.Errorf("message = %q, want %q", failure.Message, want)
	}
	if _, answered := sqlState(failure.Cause); !answered {
		t.Error("the cause is not kept for the operator")
	}
}

func exec(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]struct {
		code      provider.ErrorCode
		retryable bool
	}{
		"53300": {provider.ErrUnavailable, true}, // too many connections
		"57P03": {provider.ErrUnavailable, true}, // cannot connect now
		"57014": {provider.ErrUnavailable, true}, // statement timeout
		"08006": {provider.ErrUnavailable, true}, // connection failure
		"28P01": {provider.ErrUnavailable, true}, // invalid password
		"55006": {provider.ErrConflict, true},    // source database template0 is being accessed
		"40P01": {provider.ErrConflict, true},    // deadlock
		"42P04": {provider.ErrConflict, true},    // duplicate database
		"2BP01": {provider.ErrConflict, true},    // dependent objects still exist
		"42501": {provider.ErrRejected, false},   // insufficient privilege
	} {
		err := failure(t.Context(), "do it", &pgconn.PgError{Code: state})
		var got *provider.Error
		if !errors.As(err, &got) || got.Code != want.code || got.Retryable != want.retryable {
			t.Errorf("%s: got %v, want %s", state, err, want.code)
		}
	}
	unknown := &pgconn.PgError{Code: "XX000"}
	if err := failure(t.Context(), "do it", unknown); !errors.Is(err, unknown) || errors.As(err, new(*provider.Error)) {
		t.Errorf("an unknown error became %v", err)
	}
}

// An administrator who is no superuser waits for a superuser's session to leave the database.
func TestDropWaitsForASuperusersSession(t *testing.T) {
	t.Parallel()
	d := newDriver(t, newAdmin(t, superuser(t), "CREATEDB CREATEROLE"))
	r := newRequest(`{}`, nil)
	provision(t, d, r)
	config := connectionConfig(t)
	session := connect(t, connectionURI(config.User, config.Password, config.Host, config.Port, ownName(r.InstanceID), "prefer"))

	err := d.Deprovision(t.Context(), r)
	var failure *provider.Error
	if !errors.As(err, &failure) || failure.Code != provider.ErrConflict || !failure.Retryable {
		t.Errorf("got %v, want a retryable %s", err, provider.ErrConflict)
	}
	if err := session.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
