package jobs

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/jobs/catalog"
)

// Effect is what a catalog does to something that lives.
type Effect string

// The effects, worst first. docs/operations.md says more of each.
const (
	JobsStranded      Effect = "live jobs of a service that is gone or has another driver: they wait, and fail at their deadline"
	ServiceGone       Effect = "the service is gone: its instances live on and cannot be changed, bound or checked; their deletions wait"
	DriverChanged     Effect = "the service has another driver: its instances live on and cannot be changed, bound or checked; their deletions wait"
	PlanGone          Effect = "the plan is gone: its instances live on, can be bound and deleted, and not be changed"
	ParametersInvalid Effect = "stored parameters break the plan's schema: they stay valid until they are changed"
	PlanChanged       Effect = "price, parameters or settings of the plan have changed: its instances keep what they have until an update names the plan"
)

var effects = []Effect{JobsStranded, ServiceGone, DriverChanged, PlanGone, ParametersInvalid, PlanChanged}

// CatalogWarning says what a catalog does to the instances, or jobs, of a plan.
type CatalogWarning struct {
	Effect        Effect
	Service, Plan string
	IDs           []string // of instances or jobs, oldest first
}

// CheckCatalog lists what a catalog would do to the instances and jobs of all tenants, worst first. Secret
// parameters are not looked at, as it has no keyset.
func (o *Operator) CheckCatalog(ctx context.Context, c *catalog.Catalog) ([]CatalogWarning, error) {
	found := warnings{}
	if err := o.checkJobs(ctx, c, found); err != nil {
		return nil, err
	}
	if err := o.checkInstances(ctx, c, found); err != nil {
		return nil, err
	}
	return found.sorted(), nil
}

// warnings gathers IDs under the effect and the plan; its keys have no IDs.
type warnings map[warningKey][]string

type warningKey struct {
	effect        Effect
	service, plan string
}

func (w warnings) add(e Effect, service, plan, id string) {
	key := warningKey{e, service, plan}
	w[key] = append(w[key], id)
}

func (w warnings) sorted() []CatalogWarning {
	list := make([]CatalogWarning, 0, len(w))
	for key, ids := range w {
		list = append(list, CatalogWarning{key.effect, key.service, key.plan, ids})
	}
	slices.SortFunc(list, func(a, b CatalogWarning) int {
		if byEffect := slices.Index(effects, a.Effect) - slices.Index(effects, b.Effect); byEffect != 0 {
			return byEffect
		}
		return strings.Compare(a.Service+" "+a.Plan, b.Service+" "+b.Plan)
	})
	return list
}

func (o *Operator) checkJobs(ctx context.Context, c *catalog.Catalog, found warnings) error {
	rows, err := o.s.pool.Query(ctx, `SELECT id, service, plan, driver FROM job WHERE finished_at IS NULL ORDER BY id`)
	if err != nil {
		return wrap("read jobs", err)
	}
	var id, service, plan, driver string
	_, err = pgx.ForEachRow(rows, []any{&id, &service, &plan, &driver}, func() error {
		if offered, ok := c.Service(service); !ok || offered.DriverName != driver {
			found.add(JobsStranded, service, plan, id)
		}
		return nil
	})
	return wrap("read jobs", err)
}

// heldInstance is an instance as a catalog is held against it.
type heldInstance struct {
	id, service, plan, driver, planVersion string

	state      InstanceState
	parameters []byte // the public ones
}

func (o *Operator) checkInstances(ctx context.Context, c *catalog.Catalog, found warnings) error {
	rows, err := o.s.pool.Query(ctx, `
		SELECT id, service, plan, driver, plan_version, state, parameters FROM instance WHERE state <> 'deleted' ORDER BY id`)
	if err != nil {
		return wrap("read instances", err)
	}
	var in heldInstance
	_, err = pgx.ForEachRow(rows, []any{&in.id, &in.service, &in.plan, &in.driver, &in.planVersion, &in.state, &in.parameters}, func() error {
		effects, err := in.hold(c)
		for _, e := range effects {
			found.add(e, in.service, in.plan, in.id)
		}
		return wrap("instance "+in.id, err)
	})
	return wrap("read instances", err)
}

// hold says what the catalog does to the instance. One that can only be deleted is hurt by nothing else than
// that it cannot be.
func (in *heldInstance) hold(c *catalog.Catalog) ([]Effect, error) {
	service, ok := c.Service(in.service)
	switch {
	case !ok:
		return []Effect{ServiceGone}, nil
	case service.DriverName != in.driver:
		return []Effect{DriverChanged}, nil
	case in.state != InstanceActive && in.state != InstanceProvisioning:
		return nil, nil
	}
	plan, ok := service.Plan(in.plan)
	if !ok {
		return []Effect{PlanGone}, nil
	}
	var effects []Effect
	if in.planVersion != "" && in.planVersion != plan.Version {
		effects = append(effects, PlanChanged)
	}
	valid, err := in.fits(plan)
	if !valid {
		effects = append(effects, ParametersInvalid)
	}
	return effects, err
}

// fits reports whether the instance's parameters are good for the plan as it is now. Those of a provision
// are not complete yet.
func (in *heldInstance) fits(plan *catalog.Plan) (bool, error) {
	var public map[string]any
	if err := json.Unmarshal(in.parameters, &public); err != nil {
		return false, err
	}
	_, missing, faults := plan.CheckParameters(public)
	missing = slices.DeleteFunc(missing, plan.IsSecret)
	return len(faults) == 0 && (len(missing) == 0 || in.state == InstanceProvisioning), nil
}
