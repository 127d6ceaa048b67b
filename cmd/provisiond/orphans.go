package main

import (
	"context"
	"strconv"

	"github.com/provisiond/provisiond/jobs"
)

type orphansListCmd struct {
	databaseOptions

	Tenant   string `placeholder:"NAME" help:"Of this tenant alone."`
	Instance string `placeholder:"ID" help:"Of this instance alone."`
	All      bool   `help:"Those too that were removed or forgotten."`
}

func (c *orphansListCmd) run(ctx context.Context, p *process) error {
	return c.withOperator(ctx, p, func(o *jobs.Operator) error {
		list, err := o.ListOrphans(ctx, jobs.OrphanFilter{Tenant: c.Tenant, InstanceID: c.Instance, Ended: c.All})
		if err != nil {
			return err
		}
		t := newTable(p.stdout, "ORPHAN", "KIND", "NAME", "SERVICE", "DRIVER", "TENANT", "INSTANCE", "JOB", "SINCE", "TRIES", "LAST", "NEXT", "REASON")
		for _, o := range list {
			t.row(o.ID, o.Kind, o.Name, o.Service, o.Driver, o.Tenant, o.InstanceID, o.JobID, utc(o.CreatedAt),
				strconv.Itoa(o.Tries), maybe(o.TriedAt), next(o), o.Reason)
		}
		return t.flush()
	})
}

// next says what becomes of an orphan.
func next(o jobs.Orphan) string {
	switch {
	case o.EndedAt != nil:
		return o.Ending
	case o.RetryAt == nil:
		return "needs an operator"
	default:
		return utc(*o.RetryAt)
	}
}

// orphanArgument is of the commands on one orphan.
type orphanArgument struct {
	databaseOptions
	reasonOption

	OrphanID string `arg:"" help:"The orphan's ID, as orphans list prints it."`
}

type orphansRetryCmd struct{ orphanArgument }

func (c *orphansRetryCmd) run(ctx context.Context, p *process) error {
	return c.withOperator(ctx, p, func(o *jobs.Operator) error { return o.RetryOrphan(ctx, c.OrphanID, c.Reason) })
}

type orphansForgetCmd struct{ orphanArgument }

func (c *orphansForgetCmd) run(ctx context.Context, p *process) error {
	return c.withOperator(ctx, p, func(o *jobs.Operator) error { return o.ForgetOrphan(ctx, c.OrphanID, c.Reason) })
}
