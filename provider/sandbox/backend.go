package sandbox

import (
	"context"
	"fmt"
	"slices"
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

func (b backend) make(ctx context.Context, instanceID, kind, name, detail string) error {
	return b.exec(ctx, `INSERT INTO sandbox_object (instance_id, kind, name, detail) VALUES ($1, $2, $3, $4)`,
		instanceID, kind, name, detail)
}

func (b backend) change(ctx context.Context, instanceID, name, detail string) error {
	return b.exec(ctx, `UPDATE sandbox_object SET detail = $3 WHERE instance_id = $1 AND name = $2`,
		instanceID, name, detail)
}

// is reports whether the object records the detail.
func (b backend) is(ctx context.Context, instanceID, name, detail string) (bool, error) {
	objects, err := b.look(ctx, instanceID)
	return slices.ContainsFunc(objects, func(o object) bool { return o.Name == name && o.detail == detail }), err
}

func (b backend) remove(ctx context.Context, instanceID, name string) error {
	return b.exec(ctx, `DELETE FROM sandbox_object WHERE instance_id = $1 AND name = $2`, instanceID, name)
}

func (b backend) removeAll(ctx context.Context, instanceID string) error {
	return b.exec(ctx, `DELETE FROM sandbox_object WHERE instance_id = $1`, instanceID)
}

// object is one of the simulated world's.
type object struct {
	provider.Owned

	detail string
}

// look lists the instance's objects, and those of others that have one of the names.
func (b backend) look(ctx context.Context, instanceID string, names ...string) ([]object, error) {
	return b.list(ctx, `SELECT kind, name, instance_id, detail FROM sandbox_object
		WHERE instance_id = $1 OR name = ANY ($2::text[]) ORDER BY id`, instanceID, names)
}

func (b backend) all(ctx context.Context) ([]object, error) {
	return b.list(ctx, `SELECT kind, name, instance_id, detail FROM sandbox_object ORDER BY id`)
}

func (b backend) exec(ctx context.Context, sql string, args ...any) error {
	cctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := b.pool().Exec(cctx, sql, args...)
	return unavailable(ctx, err)
}

func (b backend) list(ctx context.Context, sql string, args ...any) ([]object, error) {
	cctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	rows, err := b.pool().Query(cctx, sql, args...)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	objects, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (o object, err error) {
		return o, row.Scan(&o.Kind, &o.Name, &o.InstanceID, &o.detail)
	})
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
