package jobs

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/jobs/catalog"
)

// Operator does by hand what goes over the heads of tenants and workers. It works beside running replicas
// and needs neither their keyset, but for CheckCatalog, nor their catalog. All that it changes is in the events, with who did it.
// Safe for concurrent use.
type Operator struct {
	s   *Service
	who string
}

// NewOperator works on the pool's database for a person, whose name goes into the events.
func NewOperator(pool *pgxpool.Pool, who string, log *slog.Logger) (*Operator, error) {
	s, err := newService(Config{Pool: pool, Catalog: &catalog.Catalog{}, Logger: log})
	if err != nil {
		return nil, err
	}
	return &Operator{s, who}, nil
}

// write is Service.write for a process that does not run the loops: it sends the notification itself.
func (o *Operator) write(ctx context.Context, fn func(*write) error) error {
	var changed []string
	err := o.s.write(ctx, func(w *write) error {
		err := fn(w)
		changed = w.changed
		return err
	})
	if err == nil && len(changed) > 0 {
		o.s.sendNotification(ctx, changed)
	}
	return err
}

// audit is the data of an operator's event.
func (o *Operator) audit(why string) map[string]any {
	data := map[string]any{"by": o.who}
	if why != "" {
		data["reason"] = why
	}
	return data
}

// mustExist refuses a filter by a tenant or an instance that there is none of: it finds nothing, as good news
// would. Empty ones filter nothing. Error: NotFound.
func (o *Operator) mustExist(ctx context.Context, tenant, instanceID string) error {
	var noTenant, noInstance bool
	err := o.s.pool.QueryRow(ctx, `
		SELECT $1 <> '' AND NOT EXISTS (SELECT FROM tenant WHERE name = $1), $2 <> '' AND NOT EXISTS (SELECT FROM instance WHERE id = $2)`,
		tenant, instanceID).Scan(&noTenant, &noInstance)
	switch {
	case err != nil:
		return wrap("find tenant and instance", err)
	case noTenant:
		return errNoTenant
	case noInstance:
		return &Error{Code: NotFound, Detail: "there is no such instance"}
	}
	return nil
}

// because is the operator's reason as it is shown to users and kept on the ledger.
func because(why string) string { return clip(cmp.Or(why, "no reason given"), 500) }
