package e2e_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// outside is what exists of an instance on the PostgreSQL server.
type outside struct {
	name      string // of the database and of the owner role
	databases int
	roles     []string
}

// findOutside looks with the administrator's eyes, not with the driver's.
func findOutside(ctx context.Context, admin *pgx.Conn, instanceID string) (outside, error) {
	o := outside{name: "prov_" + strings.TrimPrefix(instanceID, "inst_")}
	err := admin.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM pg_database WHERE datname = $1),
		       ARRAY(SELECT rolname::text FROM pg_roles
		             WHERE rolname = $1 OR shobj_description(oid, 'pg_authid') LIKE '%' || $2 || '%'
		             ORDER BY rolname <> $1)`,
		o.name, instanceID).Scan(&o.databases, &o.roles)
	return o, err
}

// outsideOf is findOutside for a test.
func (c *cluster) outsideOf(t *testing.T, instanceID string) outside {
	t.Helper()
	ctx := patient(t)
	admin, err := pgx.Connect(ctx, c.adminURL)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(ctx)
	o, err := findOutside(ctx, admin, instanceID)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// sandboxObjects counts what the sandbox made for an instance, by kind.
func (c *cluster) sandboxObjects(t *testing.T, instanceID string) (instances, credentials int) {
	t.Helper()
	err := c.db.QueryRow(patient(t), `
		SELECT count(*) FILTER (WHERE kind = 'instance'), count(*) FILTER (WHERE kind = 'credential')
		FROM sandbox_object WHERE instance_id = $1`, instanceID).Scan(&instances, &credentials)
	if err != nil {
		t.Fatal(err)
	}
	return instances, credentials
}

// mustHaveOne fails the test unless exactly one of everything exists for an instance of a service.
func (c *cluster) mustHaveOne(t *testing.T, service, instanceID string) {
	t.Helper()
	if service == "sandbox" {
		if instances, credentials := c.sandboxObjects(t, instanceID); instances != 1 || credentials != 1 {
			t.Errorf("%s: sandbox objects: %d instances, %d credentials, want one of each", instanceID, instances, credentials)
		}
		return
	}
	if o := c.outsideOf(t, instanceID); o.databases != 1 || len(o.roles) != 2 {
		t.Errorf("%s: %d databases, roles %q, want one database, its owner and a login", instanceID, o.databases, o.roles)
	}
}

// mustHaveNone fails the test if anything exists for an instance of a service.
func (c *cluster) mustHaveNone(t *testing.T, service, instanceID string) {
	t.Helper()
	if service == "sandbox" {
		if instances, credentials := c.sandboxObjects(t, instanceID); instances+credentials != 0 {
			t.Errorf("%s: sandbox objects left: %d instances, %d credentials", instanceID, instances, credentials)
		}
		return
	}
	if o := c.outsideOf(t, instanceID); o.databases != 0 || len(o.roles) != 0 {
		t.Errorf("%s: left: %d databases, roles %q", instanceID, o.databases, o.roles)
	}
}

// useDatabase logs in with credentials and makes a table.
func useDatabase(t *testing.T, credentials map[string]string) {
	t.Helper()
	ctx := patient(t)
	conn, err := pgx.Connect(ctx, credentials["uri"])
	if err != nil {
		t.Fatalf("log in with the credentials: %v", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `CREATE TABLE orders (id int); INSERT INTO orders VALUES (1)`); err != nil {
		t.Errorf("use the database: %v", err)
	}
}
