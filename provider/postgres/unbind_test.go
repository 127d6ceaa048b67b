package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/internal/pgtest"
	"github.com/provisiond/provisiond/provider"
)

// Unbind ends one binding. All that was made with its credentials stays, also what its user made as the
// login role itself, and the other binding's user has it.
func TestUnbind(t *testing.T) {
	t.Parallel()
	for name, adminURL := range administrators(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDriver(t, adminURL)
			r := newRequest(`{}`, nil)
			provision(t, d, r)
			c, leaving := bind(t, d, r)
			second := *r
			second.BindingID = newRequest(``, nil).BindingID
			_, staying := bind(t, d, &second)
			elsewhere := connectElsewhere(t, c)
			exec(t, leaving, `CREATE TABLE ours AS SELECT 1 AS id`)
			exec(t, leaving, `SET ROLE NONE; CREATE TABLE mine AS SELECT 1 AS id; CREATE SCHEMA mine;
				ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC`)
			exec(t, leaving, `BEGIN; CREATE TABLE uncommitted (id int)`)
			object := query[uint32](t, elsewhere, `SELECT lo_create(0)`)
			exec(t, elsewhere, `SET ROLE NONE`)
			own := query[uint32](t, elsewhere, `SELECT lo_create(0)`)
			exec(t, staying, `GRANT SELECT ON ours TO `+c["username"])
			exec(t, staying, `GRANT CREATE ON DATABASE `+c["database"]+` TO `+c["username"])
			exec(t, staying, `BEGIN; SELECT id FROM ours`)

			for range 2 {
				if err := d.Unbind(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
			for _, conn := range []*pgx.Conn{leaving, elsewhere} {
				if _, err := conn.Exec(t.Context(), `SELECT 1`); err == nil {
					t.Error("a session outlived its credentials")
				}
			}
			if _, err := pgx.Connect(t.Context(), c["uri"]); err == nil {
				t.Error("the credentials still connect")
			}
			exec(t, staying, `COMMIT; DROP SCHEMA mine; INSERT INTO mine SELECT id FROM ours`)
			if got := query[int](t, staying, `SELECT count(*) FROM mine`); got != 2 {
				t.Errorf("%d rows are left of 2", got)
			}
			for _, oid := range []uint32{object, own} {
				owner := query[string](t, superuser(t), `SELECT lomowner::regrole::text FROM pg_largeobject_metadata
					WHERE oid = $1`, oid)
				if owner != c["database"] {
					t.Errorf("the large object's owner is %s", owner)
				}
			}
		})
	}
}

// The credentials end first, before anything that may have to wait.
func TestUnbindEndsCredentialsFirst(t *testing.T) {
	t.Parallel()
	d := newDriver(t, pgtest.AdminURL(t))
	r := newRequest(`{}`, nil)
	provision(t, d, r)
	c, leaving := bind(t, d, r)
	second := *r
	second.BindingID = newRequest(``, nil).BindingID
	_, staying := bind(t, d, &second)
	exec(t, leaving, `SET ROLE NONE; CREATE TABLE mine (id int); GRANT ALL ON mine TO `+c["database"])
	exec(t, staying, `BEGIN; LOCK TABLE mine`)

	pool, tried := superuser(t), make(chan error)
	go func() {
		eventually(t, "Unbind waits", func() bool { return waits(t, pool, c["database"]) })
		_, err := pgx.Connect(context.Background(), c["uri"])
		_, _ = staying.Exec(context.Background(), `COMMIT`)
		tried <- err
	}()
	if err := d.Unbind(t.Context(), r); err != nil {
		t.Error(err)
	}
	err := <-tried
	if state, _ := sqlState(err); state != "28000" {
		t.Errorf("got %v, want invalid_authorization_specification", err)
	}
}

// connectElsewhere connects with the credentials to a database that every role may connect to.
func connectElsewhere(t *testing.T, c provider.Credentials) *pgx.Conn {
	t.Helper()
	config := connectionConfig(t)
	return connect(t, connectionURI(c["username"], c["password"], config.Host, config.Port, config.Database, "prefer"))
}

// Another tenant cannot hold a binding, or an instance, with grants in its own database.
func TestGrantsElsewhereHoldNothing(t *testing.T) {
	t.Parallel()
	for name, adminURL := range administrators(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDriver(t, adminURL)
			mine, theirs := newRequest(`{}`, nil), newRequest(`{}`, nil)
			provision(t, d, mine)
			provision(t, d, theirs)
			c, _ := bind(t, d, mine)
			_, session := bind(t, d, theirs)
			exec(t, session, `CREATE TABLE note (text text); GRANT SELECT ON note TO `+c["username"])
			if err := d.Unbind(t.Context(), mine); err != nil {
				t.Errorf("Unbind: %v", err)
			}
			c, _ = bind(t, d, mine)
			exec(t, session, `GRANT SELECT ON note TO `+c["username"]+`, `+c["database"])
			exec(t, session, `CREATE POLICY policy ON note TO `+c["username"])
			if err := d.Deprovision(t.Context(), mine); err != nil {
				t.Errorf("Deprovision: %v", err)
			}
		})
	}
}

// What the users left in a database that is none of the instance's is the instance's: it goes with it.
func TestDeprovisionDropsWhatIsElsewhere(t *testing.T) {
	t.Parallel()
	for name, adminURL := range administrators(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			elsewhere := "elsewhere_" + strings.ToLower(rand.Text())
			run(t, superuser(t), `CREATE DATABASE %I TEMPLATE template0`, elsewhere)
			t.Cleanup(func() { run(t, superuser(t), `DROP DATABASE %I WITH (FORCE)`, elsewhere) })
			d := newDriver(t, adminURL)
			r := newRequest(`{}`, nil)
			provision(t, d, r)
			for _, role := range []string{"none", ownName(r.InstanceID)} {
				c, _ := bind(t, d, r)
				config := connectionConfig(t)
				conn := connect(t, connectionURI(c["username"], c["password"], config.Host, config.Port, elsewhere, "prefer"))
				exec(t, conn, `SET role = '`+role+`'; SELECT lo_create(0)`)
				if err := d.Unbind(t.Context(), r); err != nil {
					t.Errorf("Unbind: %v", err)
				}
			}
			if err := d.Deprovision(t.Context(), r); err != nil {
				t.Errorf("Deprovision: %v", err)
			}
		})
	}
}

// A user can make a template of the database, which PostgreSQL does not drop.
func TestDeprovisionDropsATemplate(t *testing.T) {
	t.Parallel()
	for name, adminURL := range administrators(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDriver(t, adminURL)
			r := newRequest(`{}`, nil)
			provision(t, d, r)
			c, session := bind(t, d, r)
			exec(t, session, `ALTER DATABASE `+c["database"]+` IS_TEMPLATE true`)
			if err := d.Deprovision(t.Context(), r); err != nil {
				t.Error(err)
			}
		})
	}
}

// What is gone needs no unbinding; what is left of a binding goes.
func TestUnbindAfterALoss(t *testing.T) {
	t.Parallel()
	for name, adminURL := range administrators(t) {
		for lost, lose := range map[string]func(*testing.T, *provider.Request){
			"database":                loseDatabase,
			"database and owner role": loseInstance,
			"owner role, for another's": func(t *testing.T, r *provider.Request) {
				t.Helper()
				loseInstance(t, r)
				plantRole(t, superuser(t), ownName(r.InstanceID), "someone else's")
			},
		} {
			t.Run(lost+" "+name, func(t *testing.T) {
				t.Parallel()
				d := newDriver(t, adminURL)
				r := newRequest(`{}`, nil)
				if _, err := d.Provision(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				c, _ := bind(t, d, r)
				lose(t, r)
				exec(t, connectElsewhere(t, c), `SET ROLE NONE; SELECT lo_create(0)`)
				if err := d.Unbind(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				if query[bool](t, superuser(t), `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)`, c["username"]) {
					t.Error("the login role is left")
				}
				if lost == "database" {
					deprovision(t, d, r)
				}
			})
		}
	}
}

func loseDatabase(t *testing.T, r *provider.Request) {
	t.Helper()
	run(t, superuser(t), `DROP DATABASE %I WITH (FORCE)`, ownName(r.InstanceID))
}

func loseInstance(t *testing.T, r *provider.Request) {
	t.Helper()
	loseDatabase(t, r)
	run(t, superuser(t), `DROP ROLE %I`, ownName(r.InstanceID))
}

func TestUnbindOfAForeignRole(t *testing.T) {
	t.Parallel()
	d := newDriver(t, pgtest.AdminURL(t))
	r := newRequest(`{}`, nil)
	provision(t, d, r)
	other := newRequest(`{}`, nil)
	for _, comment := range []string{"someone else's", "provisiond instance " + other.InstanceID + " binding " + r.BindingID} {
		r.BindingID = newRequest(``, nil).BindingID
		untouched := plantRole(t, superuser(t), loginName(r.BindingID), comment)
		err := d.Unbind(t.Context(), r)
		if failure, ok := errors.AsType[*provider.Error](err); !ok || failure.Code != provider.ErrNotMine || failure.Retryable {
			t.Errorf("got %v, want %s", err, provider.ErrNotMine)
		}
		untouched(t)
	}
}
