package postgres

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/internal/pgtest"
	"github.com/provisiond/provisiond/provider"
)

// Check reports all that is wrong at once, in words for people.
func TestCheckReportsAllAtOnce(t *testing.T) {
	t.Parallel()
	pool := superuser(t)
	d := newDriver(t, pgtest.AdminURL(t))
	r := newRequest(`{"connection_limit": 5, "extensions": ["citext"]}`, map[string]any{"extensions": []any{"citext"}})
	provision(t, d, r)
	c, session := bind(t, d, r)
	r.Bindings = []string{newRequest(``, nil).BindingID, r.BindingID}
	database, gone, login := c["database"], loginName(r.Bindings[0]), c["username"]

	exec(t, session, `ALTER DATABASE `+database+` CONNECTION LIMIT -1; DROP SCHEMA public CASCADE`)
	exec(t, session, `GRANT ALL ON DATABASE `+database+` TO PUBLIC`)
	exec(t, session, `SET ROLE NONE; ALTER ROLE CURRENT_USER RESET role`)
	run(t, pool, `ALTER ROLE %I CONNECTION LIMIT 7 NOLOGIN`, login)
	run(t, pool, `REVOKE %I FROM %I`, database, login)
	plantRole(t, pool, login+"x", "provisiond instance "+r.InstanceID+" binding x")
	other := breaker{pool}.stranger(t)
	run(t, pool, `GRANT CONNECT, TEMPORARY ON DATABASE %I TO %I`, database, other)
	run(t, pool, `GRANT %I, %I TO %I`, database, login, other)
	run(t, pool, `GRANT pg_read_all_data TO %I`, login)
	run(t, pool, `ALTER ROLE %I CREATEROLE REPLICATION VALID UNTIL '2999-01-01 01:00+01'`, login)
	run(t, pool, `ALTER ROLE %I LOGIN BYPASSRLS`, database)

	found, err := d.Check(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"changed database " + database + ": The connection limit is none and should be 5.",
		"changed role " + database + ": The role has rights that it should not have: LOGIN, BYPASSRLS.",
		"missing role " + gone + ": The role does not exist.",
		"changed role " + login + ": The role may not log in.",
		"changed role " + login + ": The role may log in only until 2999-01-01T00:00:00Z.",
		"changed role " + login + ": The role has rights that it should not have: CREATEROLE, REPLICATION.",
		"changed role " + login + ": The connection limit is 7 and should be 5.",
		"changed role " + login + ": The role is not a member of the owner role.",
		"changed role " + login + ": The role's sessions do not work as the owner role from their start.",
		"foreign role " + login + "x: The role carries the instance's marker and is none of its bindings'.",
		"changed role " + login + ": The role is a member of pg_read_all_data.",
		"foreign role " + other + ": The role is a member of " + database + " and is none of the instance's.",
		"foreign role " + other + ": The role is a member of " + login + " and is none of the instance's.",
		"changed database " + database + ": Every role of the server has CONNECT, CREATE, TEMPORARY on the database.",
		"changed database " + database + ": The role " + other + " has CONNECT, TEMPORARY on the database.",
		"missing extension citext: The extension does not exist.",
	}
	got := texts(found)
	slices.Sort(want) // names differ with each run
	slices.Sort(got)
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func texts(found []provider.Finding) []string {
	var texts []string
	for _, f := range found {
		texts = append(texts, fmt.Sprintf("%s %s %s: %s", f.Kind, f.Object.Kind, f.Object.Name, f.Detail))
	}
	return texts
}

// Check tells each fault in words of its own.
func TestCheckTells(t *testing.T) {
	t.Parallel()
	pool := superuser(t)
	d := newDriver(t, pgtest.AdminURL(t))
	for want, command := range map[string]string{ // %1$I is the owner role and the database, %2$I the binding's role
		"changed role LOGIN: The role has expired: its VALID UNTIL has passed.":                       `ALTER ROLE %2$I VALID UNTIL '2020-01-01'`,
		"changed role LOGIN: The role has rights that it should not have: SUPERUSER.":                 `ALTER ROLE %2$I SUPERUSER`,
		"changed role LOGIN: The role has rights that it should not have: CREATEDB.":                  `ALTER ROLE %2$I CREATEDB`,
		"changed role LOGIN: The role may make other roles members of OWNER.":                         `GRANT %1$I TO %2$I WITH ADMIN OPTION`,
		"changed role OWNER: The role is a member of pg_monitor.":                                     `GRANT pg_monitor TO %1$I`,
		"foreign role pg_monitor: The role is a member of OWNER and is none of the instance's.":       `GRANT %1$I TO pg_monitor`,
		"changed database OWNER: The database is a template: other roles may copy it.":                `ALTER DATABASE %1$I IS_TEMPLATE true`,
		"changed database OWNER: The owner role may not connect to the database.":                     `REVOKE CONNECT ON DATABASE %1$I FROM %1$I`,
		"changed database OWNER: Every role of the server has TEMPORARY on the database.":             `GRANT TEMPORARY ON DATABASE %1$I TO PUBLIC`,
		"foreign database OWNER: A database of the instance's name exists whose owner is pg_monitor.": `ALTER DATABASE %1$I OWNER TO pg_monitor`,
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			r := newRequest(`{}`, nil)
			provision(t, d, r)
			bind(t, d, r)
			owner, login := ownName(r.InstanceID), loginName(r.BindingID)
			t.Cleanup(func() { run(t, pool, `ALTER DATABASE %1$I OWNER TO %1$I`, owner) })
			run(t, pool, command, owner, login)

			r.Bindings = []string{r.BindingID}
			found, err := d.Check(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.NewReplacer("OWNER", owner, "LOGIN", login).Replace(want)
			if diff := gocmp.Diff([]string{want}, texts(found)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// What users do with their own database and logins is theirs.
func TestCheckLeavesUsersAlone(t *testing.T) {
	t.Parallel()
	for name, adminURL := range administrators(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDriver(t, adminURL)
			r := newRequest(`{}`, nil)
			provision(t, d, r)
			c, session := bind(t, d, r)
			exec(t, session, `CREATE SCHEMA private; CREATE TABLE private.note (text text); GRANT SELECT ON private.note TO PUBLIC`)
			exec(t, session, `GRANT CREATE ON DATABASE `+c["database"]+` TO `+c["username"])
			exec(t, session, `ALTER DATABASE `+c["database"]+` SET search_path = private`)
			r.Bindings = []string{r.BindingID}
			if found, err := d.Check(t.Context(), r); err != nil || len(found) > 0 {
				t.Errorf("Check = %v, %v; want nothing", texts(found), err)
			}
		})
	}
}

// List tells by the markers alone, and takes only those of its own form.
func TestList(t *testing.T) {
	t.Parallel()
	pool := superuser(t)
	lister := newDriver(t, pgtest.AdminURL(t)).(provider.Lister)
	id := newRequest(``, nil).InstanceID
	suffix := strings.TrimPrefix(id, "inst_")
	plantRole(t, pool, "renamed_"+suffix, "provisiond instance "+id)
	plantRole(t, pool, "login_"+suffix, "provisiond instance "+id+" binding "+newRequest(``, nil).BindingID)
	for i, comment := range []string{"instance " + id + " ", "instance " + id + "0", "instance " + id + " binding x", id} {
		plantRole(t, pool, fmt.Sprintf("other%d_%s", i, suffix), "provisiond "+comment)
	}
	run(t, pool, `CREATE DATABASE %I OWNER %I TEMPLATE template0`, "db_"+suffix, "renamed_"+suffix)
	t.Cleanup(func() { run(t, pool, `DROP DATABASE %I`, "db_"+suffix) })

	all, err := lister.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []provider.Object
	for _, o := range all {
		if o.InstanceID == id {
			got = append(got, o.Object)
		}
	}
	want := []provider.Object{{Kind: "database", Name: "db_" + suffix}, role("renamed_" + suffix), role("login_" + suffix)}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}
