package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/provisiond/provisiond/jobs"
)

type workersCmd struct{ databaseOptions }

func (c *workersCmd) run(ctx context.Context, p *process) error {
	return c.withOperator(ctx, p, func(o *jobs.Operator) error {
		list, err := o.ListWorkers(ctx)
		if err != nil {
			return err
		}
		t := newTable(p.stdout, "WORKER", "ALIVE", "DRIVERS", "SINCE", "SEEN", "JOBS", "FIRST LEASE", "LAST LEASE")
		for _, w := range list {
			t.row(w.ID, yesNo(w.Alive), strings.Join(w.Drivers, ","), maybe(w.StartedAt), maybe(w.SeenAt),
				strconv.Itoa(w.Jobs), maybe(w.FirstLease), maybe(w.LastLease))
		}
		return t.flush()
	})
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
