package sandbox

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/provider"
)

// callTimeout bounds each call of the back end.
const callTimeout = 10 * time.Second

// backend is the simulated outside world. Each method is one call of it. As with many a real API,
// names are not unique: only who looks first makes no double.
type backend struct{ pool func() *pgxpool.Pool }

const (
	kindInstance   = "instance"
	kindCredential = "credential"
)

// instanceName and credentialName derive the outside names from the IDs.
func instanceName(r *provider.Request) string {
	return "sandbox-" + strings.TrimPrefix(r.InstanceID, "inst_")
}

func credentialName(r *provider.Request) string {
	return "sandbox-user-" + strings.TrimPrefix(r.BindingID, "bind_")
}

// find reports whether the object exists. It fails with ErrNotMine when another's has its name.
func (b backend) find(ctx context.Context, instanceID, name string) (bool, error) {
	cctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var mine, theirs bool
	err := b.pool().QueryRow(cctx, `
		SELECT coalesce(bool_or(instance_id = $1), false), coalesce(bool_or(instance_id <> $1), false)
		FROM sandbox_object WHERE name = $2`, instanceID, name).Scan(&mine, &theirs)
	if err != nil {
		return false, unavailable(ctx, err)
	}
	if theirs {
		return false, &provider.Error{Code: provider.ErrNotMine, Message: fmt.Sprintf(
			"An object named %s exists in the sandbox and is not the instance's. It was left alone.", name)}
	}
	return mine, nil
}

func (b backend) make(ctx context.Context, instanceID, kind, name string) error {
	cctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := b.pool().Exec(cctx,
		`INSERT INTO sandbox_object (instance_id, kind, name) VALUES ($1, $2, $3)`, instanceID, kind, name)
	return unavailable(ctx, err)
}

func (b backend) remove(ctx context.Context, instanceID string) error {
	cctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := b.pool().Exec(cctx, `DELETE FROM sandbox_object WHERE instance_id = $1`, instanceID)
	return unavailable(ctx, err)
}

func (b backend) list(ctx context.Context, instanceID string) ([]provider.Object, error) {
	cctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	rows, err := b.pool().Query(cctx,
		`SELECT kind, name FROM sandbox_object WHERE instance_id = $1 ORDER BY id`, instanceID)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	objects, err := pgx.CollectRows(rows, pgx.RowToStructByPos[provider.Object])
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	return objects, nil
}

// unavailable is the error for a call that gave no answer. The simulated world has no other.
func unavailable(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &provider.Error{Code: provider.ErrUnavailable, Retryable: true, Cause: err,
		Message: "The sandbox is not available."}
}
