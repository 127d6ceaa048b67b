package jobs

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Admin is what the operator's commands use. Safe for concurrent use.
type Admin struct {
	pool *pgxpool.Pool
}

// NewAdmin works on the pool's database.
func NewAdmin(pool *pgxpool.Pool) *Admin { return &Admin{pool} }

// Tenant is who owns instances, jobs and keys.
type Tenant struct {
	ID, Name  string
	CreatedAt time.Time
}

var tenantName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// CreateTenant makes a tenant. Errors: InvalidRequest, NameTaken.
func (a *Admin) CreateTenant(ctx context.Context, name string) (Tenant, error) {
	if !tenantName.MatchString(name) {
		return Tenant{}, &Error{Code: InvalidRequest, Detail: "a tenant's name is 1 to 63 lower-case letters, digits and dashes and begins with a letter"}
	}
	t := Tenant{ID: newID("tnt"), Name: name}
	err := a.pool.QueryRow(ctx, `INSERT INTO tenant (id, name) VALUES ($1, $2) RETURNING created_at`, t.ID, name).Scan(&t.CreatedAt)
	if violates(err, "tenant_name_key") {
		return Tenant{}, &Error{Code: NameTaken, Detail: "a tenant of this name exists"}
	}
	if err != nil {
		return Tenant{}, fmt.Errorf("create tenant: %w", err)
	}
	return t, nil
}

// ListTenants lists all tenants by name.
func (a *Admin) ListTenants(ctx context.Context) ([]Tenant, error) {
	rows, err := a.pool.Query(ctx, `SELECT id, name, created_at FROM tenant ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("list tenants: %w", err)
	}
	tenants, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Tenant])
	if err != nil {
		return nil, fmt.Errorf("list tenants: %w", err)
	}
	return tenants, nil
}

var errNoTenant = &Error{Code: NotFound, Detail: "there is no tenant of this name"}

// TenantByName finds a tenant. Error: NotFound.
func (a *Admin) TenantByName(ctx context.Context, name string) (Tenant, error) {
	var t Tenant
	err := a.pool.QueryRow(ctx, `SELECT id, name, created_at FROM tenant WHERE name = $1`, name).Scan(&t.ID, &t.Name, &t.CreatedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return Tenant{}, errNoTenant
	}
	if err != nil {
		return Tenant{}, fmt.Errorf("find tenant: %w", err)
	}
	return t, nil
}

// violates reports whether err is the violation of the named constraint or unique index.
func violates(err error, constraint string) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.ConstraintName == constraint
}
