package postgres

import (
	"fmt"
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
	exec(t, session, `GRANT CONNECT ON DATABASE `+database+` TO PUBLIC`)
	exec(t, session, `SET ROLE NONE; ALTER ROLE CURRENT_USER RESET role`)
	run(t, pool, `ALTER ROLE %I CONNECTION LIMIT 7 NOLOGIN`, login)
	run(t, pool, `REVOKE %I FROM %I`, database, login)
	plantRole(t, pool, login+"x", "provisiond instance "+r.InstanceID+" binding x")

	found, err := d.Check(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"changed database " + database + ": The connection limit is none and should be 5.",
		"changed database " + database + ": Every role of the server may connect to the database.",
		"missing role " + gone + ": The role does not exist.",
		"changed role " + login + ": The role may not log in.",
		"changed role " + login + ": The connection limit is 7 and should be 5.",
		"changed role " + login + ": The role is not a member of the owner role.",
		"changed role " + login + ": The role's sessions do not work as the owner role from their start.",
		"foreign role " + login + "x: The role carries the instance's marker and is none of its bindings'.",
		"missing extension citext: The extension does not exist.",
	}
	var got []string
	for _, f := range found {
		got = append(got, fmt.Sprintf("%s %s %s: %s", f.Kind, f.Object.Kind, f.Object.Name, f.Detail))
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
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
