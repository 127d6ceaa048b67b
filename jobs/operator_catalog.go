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
	// ConfigurationMoved is about instances in all states: what they are deleted from is not where they are.
	ConfigurationMoved   Effect = "provider configuration moved: the service's configuration is another than the instances were made or last found with; their next job, a deletion too, goes to where it points"
	PlanChanged          Effect = "price, parameters or settings of the plan have changed: its instances keep what they have until an update names the plan"
	ConfigurationUnknown Effect = "not known whether provider configuration moved: the instances were made by an earlier release and had no successful job since"
)

var effects = []Effect{
	JobsStranded, ServiceGone, DriverChanged, ConfigurationMoved, PlanGone, ParametersInvalid, PlanChanged, ConfigurationUnknown,
}

// CatalogWarning says what a catalog does to the instances, or jobs, of a plan.
type CatalogWarning struct {
	Effect        Effect
	Service, Plan string
	IDs           []string // of instances or jobs, oldest first
}

// CheckCatalog lists what a catalog would do to the instances and jobs of all tenants, worst first. Secret
// parameters are not looked at. Whether configuration has moved is known with the replicas' keyset alone, and not
// looked at where that is nil; with another one it is an error.
func (o *Operator) CheckCatalog(ctx context.Context, c *catalog.Catalog, keyset *Sealer) ([]CatalogWarning, error) {
	found := warnings{}
	if err := o.checkJobs(ctx, c, found); err != nil {
		return nil, err
	}
	if err := o.checkInstances(ctx, c, keyset, found); err != nil {
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
	id, tenantID, service, plan, driver, planVersion string

	state        InstanceState
	parameters   []byte // the public ones
	touched      bool
	configDigest []byte
}

func (o *Operator) checkInstances(ctx context.Context, c *catalog.Catalog, keyset *Sealer, found warnings) error {
	rows, err := o.s.pool.Query(ctx, `
		SELECT id, tenant_id, service, plan, driver, plan_version, state, parameters, touched, config_digest
		FROM instance WHERE state <> 'deleted' ORDER BY id`)
	if err != nil {
		return wrap("read instances", err)
	}
	var in heldInstance
	into := []any{
		&in.id, &in.tenantID, &in.service, &in.plan, &in.driver, &in.planVersion, &in.state, &in.parameters, &in.touched, &in.configDigest,
	}
	_, err = pgx.ForEachRow(rows, into, func() error {
		effects, err := in.hold(c, keyset)
		for _, e := range effects {
			found.add(e, in.service, in.plan, in.id)
		}
		return wrap("instance "+in.id, err)
	})
	return wrap("read instances", err)
}

// hold says what the catalog does to the instance. One that can only be deleted is hurt by nothing else than
// that it cannot be, or not where it is.
func (in *heldInstance) hold(c *catalog.Catalog, keyset *Sealer) ([]Effect, error) {
	service, ok := c.Service(in.service)
	switch {
	case !ok:
		return []Effect{ServiceGone}, nil
	case service.DriverName != in.driver:
		return []Effect{DriverChanged}, nil
	}
	effects, err := in.moved(service, keyset)
	if err != nil || in.state != InstanceActive && in.state != InstanceProvisioning {
		return effects, err
	}
	plan, ok := service.Plan(in.plan)
	if !ok {
		return append(effects, PlanGone), nil
	}
	if in.planVersion != "" && in.planVersion != plan.Version {
		effects = append(effects, PlanChanged)
	}
	valid, err := in.fits(plan)
	if !valid {
		effects = append(effects, ParametersInvalid)
	}
	return effects, err
}

// moved says whether the service's configuration is the one that the instance was made or last found with.
func (in *heldInstance) moved(service *catalog.Service, keyset *Sealer) ([]Effect, error) {
	switch {
	case keyset == nil || !in.touched:
		return nil, nil
	case in.configDigest == nil:
		return []Effect{ConfigurationUnknown}, nil
	}
	same, err := keyset.sameDigest(configPlace(in.tenantID, in.id), in.configDigest, configurationOf(service))
	if same || err != nil {
		return nil, err
	}
	return []Effect{ConfigurationMoved}, nil
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
