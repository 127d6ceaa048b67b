package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/internal/pgtest"
	"github.com/provisiond/provisiond/provider"
)

// wide is a plan that leaves room for a change.
const wide = `{"connection_limit": 20, "extensions": ["citext", "hstore", "file_fdw", "no_such_extension"]}`

// administrators are the two kinds of them.
func administrators(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"as superuser":      pgtest.AdminURL(t),
		"without superuser": newAdmin(t, superuser(t), "CREATEDB CREATEROLE"),
	}
}

// changeTo is a request for an update of the instance.
func changeTo(r *provider.Request, parameters map[string]any) *provider.Request {
	changed := *r
	changed.Previous = &provider.Configuration{Settings: r.Settings, Parameters: r.Parameters}
	changed.Parameters = parameters
	return &changed
}

// Update reaches the database and each login role, and what is connected goes on.
func TestUpdate(t *testing.T) {
	t.Parallel()
	for name, adminURL := range administrators(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDriver(t, adminURL)
			r := newRequest(wide, map[string]any{"connection_limit": 5, "extensions": []any{"citext"}})
			provision(t, d, r)
			c, session := bind(t, d, r)
			second := *r
			second.BindingID = newRequest(``, nil).BindingID
			bind(t, d, &second)

			changed := changeTo(r, map[string]any{"connection_limit": 7, "extensions": []any{"hstore", "citext"}})
			for range 2 {
				endpoint, err := d.Update(t.Context(), changed)
				if err != nil {
					t.Fatal(err)
				}
				if endpoint["database"] != c["database"] {
					t.Errorf("endpoint = %v", endpoint)
				}
			}
			exec(t, session, `SELECT 'a=>1'::hstore, 'a'::citext`)
			for _, limit := range limits(t, changed, r.BindingID, second.BindingID) {
				if limit != 7 {
					t.Errorf("a connection limit is %d", limit)
				}
			}
			connect(t, c["uri"])
		})
	}
}

// limits are the connection limits of the database and the bindings' roles.
func limits(t *testing.T, r *provider.Request, bindings ...string) []int {
	t.Helper()
	pool := superuser(t)
	got := []int{query[int](t, pool, `SELECT datconnlimit FROM pg_database WHERE datname = $1`, ownName(r.InstanceID))}
	for _, binding := range bindings {
		got = append(got, query[int](t, pool, `SELECT rolconnlimit FROM pg_roles WHERE rolname = $1`, loginName(binding)))
	}
	return got
}

// What cannot be done is refused for good, and nothing of the update is done.
func TestUpdateRefused(t *testing.T) {
	t.Parallel()
	d := newDriver(t, newAdmin(t, superuser(t), "CREATEDB CREATEROLE"))
	before := map[string]any{"connection_limit": 5, "extensions": []any{"citext"}, "locale": "C"}
	for name, test := range map[string]struct {
		parameters map[string]any
		tenant     string // what the tenant does before
		want       string
	}{
		"all at once": {
			parameters: map[string]any{},
			want: "Wrong parameters: locale: cannot be changed; " +
				"extensions: must hold those that the database has, for none can be removed",
		},
		"extension that the server lacks": {
			parameters: map[string]any{"extensions": []any{"citext", "hstore", "no_such_extension"}, "locale": "C"},
			want:       "extensions: the PostgreSQL server does not have one of them.",
		},
		"the schema is gone": {
			parameters: map[string]any{"extensions": []any{"citext", "hstore"}, "locale": "C"},
			tenant:     `ALTER SCHEMA public RENAME TO private`,
			want: "extensions: the database has no schema named public to make one of them in, " +
				"or holds something of the same name as one's.",
		},
		"the name is taken": {
			parameters: map[string]any{"extensions": []any{"citext", "hstore"}, "locale": "C"},
			tenant:     `CREATE TYPE hstore AS (text text)`,
			want: "extensions: the database has no schema named public to make one of them in, " +
				"or holds something of the same name as one's.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRequest(wide, before)
			provision(t, d, r)
			_, session := bind(t, d, r)
			if test.tenant != "" {
				exec(t, session, test.tenant)
			}
			_, err := d.Update(t.Context(), changeTo(r, test.parameters))
			checkRejected(t, err, test.want)
			for _, limit := range limits(t, r, r.BindingID) {
				if limit != 5 {
					t.Errorf("a connection limit is now %d", limit)
				}
			}
			if query[bool](t, session, `SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'hstore')`) {
				t.Error("an extension was made")
			}
		})
	}
}

func TestUpdateOfNoChange(t *testing.T) {
	t.Parallel()
	_, err := newDriver(t, pgtest.AdminURL(t)).Update(t.Context(), newRequest(wide, nil))
	checkRejected(t, err, "The update does not say what the instance was.")
}

// An update finds that the instance does not work any more, and that no update can change that.
func TestUpdateAfterALoss(t *testing.T) {
	t.Parallel()
	pool := superuser(t)
	d := newDriver(t, pgtest.AdminURL(t))
	for lost, test := range map[string]struct {
		lose func(*testing.T, *provider.Request)
		want provider.ErrorCode
	}{
		"database":                {loseDatabase, provider.ErrRejected},
		"database and owner role": {loseInstance, provider.ErrRejected},
		"all but a broken database": {breaker{pool}.database("",
			`UPDATE pg_database SET datconnlimit = -2 WHERE datname = %L`).Do, provider.ErrRejected},
		"database's owner": {breaker{pool}.giveAway, provider.ErrNotMine},
	} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			r := newRequest(wide, nil)
			provision(t, d, r)
			test.lose(t, r)
			_, err := d.Update(t.Context(), changeTo(r, nil))
			failure, ok := errors.AsType[*provider.Error](err)
			if !ok || failure.Code != test.want || failure.Retryable || !failure.Unusable || !failure.NotRepeatable {
				t.Errorf("got %+v, want %s, unusable and not repeatable", failure, test.want)
			}
		})
	}
}

func checkRejected(t *testing.T, err error, want string) {
	t.Helper()
	failure, ok := errors.AsType[*provider.Error](err)
	if !ok || failure.Code != provider.ErrRejected || failure.Retryable || failure.Unusable {
		t.Fatalf("got %v, want %s", err, provider.ErrRejected)
	}
	if failure.Message != want {
		t.Errorf("message = %q\nwant %q", failure.Message, want)
	}
}

// A database without a free connection still gets a higher limit.
func TestUpdateOfAFullDatabase(t *testing.T) {
	t.Parallel()
	d := newDriver(t, newAdmin(t, superuser(t), "CREATEDB CREATEROLE"))
	r := newRequest(wide, map[string]any{"connection_limit": 1, "extensions": []any{"citext"}})
	provision(t, d, r)
	c, _ := bind(t, d, r)
	if _, err := pgx.Connect(t.Context(), c["uri"]); err == nil {
		t.Fatal("the database is not full")
	}
	changed := changeTo(r, map[string]any{"connection_limit": 2, "extensions": []any{"citext"}})
	if _, err := d.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	// The session that was refused counts until the server has ended it.
	eventually(t, "there is a free connection", func() bool {
		conn, err := pgx.Connect(t.Context(), c["uri"])
		if err == nil {
			_ = conn.Close(t.Context())
		}
		return err == nil
	})
}

// What a tenant sets for its database's sessions does not reach the administrator's.
func TestTenantsSettingsDoNotHold(t *testing.T) {
	t.Parallel()
	for name, adminURL := range administrators(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDriver(t, adminURL)
			r := newRequest(wide, nil)
			provision(t, d, r)
			_, session := bind(t, d, r)
			exec(t, session, `CREATE SCHEMA mine; SET ROLE NONE; CREATE TABLE mine.note (text text)`)
			for setting, value := range map[string]string{
				"role": ownName(r.InstanceID), "default_transaction_read_only": "on", "search_path": "mine",
			} {
				command := `ALTER DATABASE ` + ownName(r.InstanceID) + ` SET ` + setting + ` = ` + value
				exec(t, session, command)
			}
			if _, err := d.Update(t.Context(), changeTo(r, map[string]any{"extensions": []any{"citext"}})); err != nil {
				t.Error(err)
			}
			schema := query[string](t, session, `SELECT extnamespace::regnamespace::text FROM pg_extension
				WHERE extname = 'citext'`)
			if schema != "public" {
				t.Errorf("the extension went to schema %s", schema)
			}
			if err := d.Unbind(t.Context(), r); err != nil {
				t.Error(err)
			}
		})
	}
}

// An update whose worker died does not go on at the server.
func TestUpdateIsOneTransaction(t *testing.T) {
	t.Parallel()
	pool := superuser(t)
	d := newDriver(t, pgtest.AdminURL(t))
	r := newRequest(wide, map[string]any{"connection_limit": 5})
	provision(t, d, r)

	// An uncommitted ALTER of the database makes the update wait after it has made the extension.
	blocker, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer blocker.Rollback(context.Background()) //nolint:errcheck // it has ended when the test passes
	if err := ddl(t.Context(), blocker, `ALTER DATABASE %I CONNECTION LIMIT 6`, ownName(r.InstanceID)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		eventually(t, "the update waits", func() bool { return waits(t, pool, ownName(r.InstanceID)) })
		cancel()
	}()
	changed := changeTo(r, map[string]any{"connection_limit": 7, "extensions": []any{"citext"}})
	if _, err := d.Update(ctx, changed); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want %v", err, context.Canceled)
	}
	if err := blocker.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, session := bind(t, d, r)
	if query[bool](t, session, `SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citext')`) {
		t.Error("the extension was made")
	}
	if got := limits(t, r); got[0] != 5 {
		t.Errorf("the connection limit is %d", got[0])
	}
	if _, err := d.Update(t.Context(), changed); err != nil {
		t.Error(err)
	}
}

// waits reports whether a session in the database waits for a lock.
func waits(t *testing.T, q querier, database string) bool {
	t.Helper()
	var waits bool
	err := q.QueryRow(context.Background(), `SELECT EXISTS (SELECT FROM pg_stat_activity
		WHERE wait_event_type = 'Lock' AND datname = $1)`, database).Scan(&waits)
	if err != nil {
		t.Errorf("pg_stat_activity: %v", err)
	}
	return waits
}
