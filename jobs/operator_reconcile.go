package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/provider"
)

// Stray is an object that carries provisiond's marker and is of no instance that lives.
type Stray struct {
	provider.Owned
	Service, Driver string
	// Deleted: the instance is known and deleted; otherwise the database does not know it.
	Deleted  bool
	tenantID string
}

func (s *Stray) reason() string {
	if s.Deleted {
		return "found by reconcile: the instance is deleted"
	}
	return "found by reconcile: the instance is unknown"
}

// Reconcile compares what the back ends of the catalog hold under provisiond's marker with the instances of
// all tenants. It asks the drivers that can list, and goes on where one fails: its error names them.
func (o *Operator) Reconcile(ctx context.Context, c *catalog.Catalog) ([]Stray, error) {
	var strays []Stray
	var errs []error
	seen := map[provider.Owned]bool{} // services may share a back end
	for i := range c.Services {
		found, err := o.straysOf(ctx, &c.Services[i])
		errs = append(errs, wrap("service "+c.Services[i].ID, err))
		for _, stray := range found {
			if !seen[stray.Owned] {
				seen[stray.Owned] = true
				strays = append(strays, stray)
			}
		}
	}
	return strays, errors.Join(errs...)
}

// straysOf lists the strays at the back end of one service.
func (o *Operator) straysOf(ctx context.Context, service *catalog.Service) ([]Stray, error) {
	lister, ok := service.Driver.(provider.Lister)
	if !ok {
		return nil, nil
	}
	// An instance is deleted after its objects: one that is deleted while the driver lists is none.
	var before time.Time
	if err := o.s.pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&before); err != nil {
		return nil, wrap("read clock", err)
	}
	owned, err := lister.List(ctx)
	if err != nil {
		return nil, err
	}
	known, err := o.instancesOf(ctx, owned)
	if err != nil {
		return nil, err
	}
	var strays []Stray
	for _, object := range owned {
		in, found := known[object.InstanceID]
		if found && (in.State != InstanceDeleted || in.UpdatedAt.After(before)) {
			continue
		}
		strays = append(strays, Stray{
			Owned: object, Service: service.ID, Driver: service.DriverName, Deleted: found, tenantID: in.TenantID,
		})
	}
	return strays, nil
}

// knownInstance is what reconcile must know of an instance.
type knownInstance struct {
	ID, TenantID string
	State        InstanceState
	UpdatedAt    time.Time
}

func (o *Operator) instancesOf(ctx context.Context, owned []provider.Owned) (map[string]knownInstance, error) {
	ids := make([]string, len(owned))
	for i, object := range owned {
		ids[i] = object.InstanceID
	}
	rows, err := o.s.pool.Query(ctx, `SELECT id, tenant_id, state, updated_at FROM instance WHERE id = ANY ($1)`, ids)
	if err != nil {
		return nil, wrap("read instances", err)
	}
	known := map[string]knownInstance{}
	var in knownInstance
	_, err = pgx.ForEachRow(rows, []any{&in.ID, &in.TenantID, &in.State, &in.UpdatedAt}, func() error {
		known[in.ID] = in
		return nil
	})
	return known, wrap("read instances", err)
}

// RecordStrays puts strays on the ledger of orphans, as far as they are not on it. No job can remove them.
// It returns how many are new.
func (o *Operator) RecordStrays(ctx context.Context, strays []Stray) (int, error) {
	recorded := 0
	err := o.write(ctx, func(w *write) error {
		for i := range strays {
			r, err := recordStray(ctx, w, &strays[i])
			if err != nil {
				return err
			}
			if r != nil {
				recorded++
				o.orphanEvent(w, r, "operator.record_orphan", strays[i].reason())
			}
		}
		return nil
	})
	return recorded, err
}

// recordStray returns nil where the stray is on the ledger already.
func recordStray(ctx context.Context, w *write, s *Stray) (*orphanRow, error) {
	r := &orphanRow{id: newID("orph"), tenantID: s.tenantID, instanceID: s.InstanceID, kind: s.Kind, name: s.Name}
	tag, err := w.tx.Exec(ctx, `
		INSERT INTO orphan (id, tenant_id, instance_id, job_id, service, driver, kind, name, reason)
		VALUES ($1, $2, $3, '', $4, $5, $6, $7, $8)
		ON CONFLICT (instance_id, kind, name) WHERE ended_at IS NULL DO NOTHING`,
		r.id, r.tenantID, r.instanceID, s.Service, s.Driver, r.kind, r.name, s.reason())
	if err != nil || tag.RowsAffected() == 0 {
		return nil, wrap("record orphan", err)
	}
	return r, nil
}
