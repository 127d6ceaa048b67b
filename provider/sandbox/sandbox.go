package sandbox

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/provider"
)

// driver implements provider.Driver and provider.PlanChecker.
type driver struct{ backend backend }

// Factory returns the sandbox's [provider.Factory]. The pool is asked for only when a driver works:
// a catalog can be checked without a database.
func Factory(pool func() *pgxpool.Pool) provider.Factory {
	return func(config json.RawMessage) (provider.Driver, error) {
		// There is nothing to configure.
		if err := provider.DecodeFields(config, nil); err != nil {
			return nil, err
		}
		return &driver{backend{pool}}, nil
	}
}

// Find implements provider.Driver.
func (d *driver) Find(ctx context.Context, r *provider.Request) ([]provider.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return d.backend.list(ctx, r.InstanceID)
}
