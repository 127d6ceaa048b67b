package sandbox

import (
	"encoding/json"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/provider"
)

// driver implements provider.Driver, provider.PlanChecker, provider.Namer and provider.Lister.
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
