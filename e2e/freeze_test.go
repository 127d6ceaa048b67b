package e2e_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/client"
)

// A worker that the kernel, a hypervisor or a debugger has stopped comes back without knowing that it
// was away.
func TestFrozenWorkerWritesNothingWhenItThaws(t *testing.T) {
	t.Parallel()
	c := prepareCluster(t, options{env: shortLease})
	for _, r := range c.apis {
		r.start(t)
	}
	c.makeKeys(t)
	sdk := c.sdk(t)
	frozen, other := c.workers[0], c.workers[1]
	frozen.start(t)
	for name, test := range map[string]struct {
		request client.StartRequest
		midway  func(*client.Accepted) bool
	}{
		"postgres": {smallDatabase(), func(a *client.Accepted) bool {
			return c.hasProgress(t, a.JobID, "create_database")
		}},
		"sandbox": {tunable(object{"duration": "900ms"}), func(a *client.Accepted) bool {
			instances, _ := c.sandboxObjects(t, a.InstanceID)
			return instances == 1
		}},
	} {
		t.Run(name, func(t *testing.T) {
			accepted := freezeMidway(t, c, frozen, test.request, test.midway)
			defer frozen.cont()
			other.start(t)
			defer other.kill()
			waitJob(t, sdk, accepted.JobID, client.JobStateSucceeded)
			before := c.record(t, accepted.JobID)

			frozen.cont()
			frozen.line(t, accepted.JobID, `"result":"lost_lease"`)
			if diff := cmp.Diff(before, c.record(t, accepted.JobID)); diff != "" {
				t.Errorf("the thawed worker has written (-before +after):\n%s", diff)
			}
			c.mustHaveOne(t, test.request.Service, accepted.InstanceID)
		})
	}
}

// A transaction that the worker has open when it is frozen holds its locks.
func TestWorkerFrozenInATransactionIsReplacedByAnother(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{workers: 1, env: shortLease})
	sdk, ctx := c.sdk(t), patient(t)
	frozen := c.workers[0]
	accepted := start(t, sdk, tunable(object{"duration": "900ms"}))
	eventually(t, "the object is made", func() bool {
		instances, _ := c.sandboxObjects(t, accepted.InstanceID)
		return instances == 1
	})
	lock, err := c.db.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Rollback(context.Background()) //nolint:errcheck // ends the lock in any case
	// The worker's next checkpoint locks the job, and then waits for the instance.
	if _, err := lock.Exec(ctx, `SELECT FROM instance WHERE id = $1 FOR UPDATE`, accepted.InstanceID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the worker waits within a transaction", func() bool { return c.lockWaiter(t, "UPDATE instance") != 0 })
	frozen.stop()
	if err := lock.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	other := &replica{cluster: c, role: "worker", name: "worker B"}
	other.start(t)
	waitJob(t, sdk, accepted.JobID, client.JobStateSucceeded)
	c.mustHaveOne(t, "sandbox", accepted.InstanceID)
	before := c.record(t, accepted.JobID)
	frozen.cont()
	frozen.line(t, accepted.JobID, `"msg":"job segment"`)
	if diff := cmp.Diff(before, c.record(t, accepted.JobID)); diff != "" {
		t.Errorf("the thawed worker has written (-before +after):\n%s", diff)
	}
}

// freezeMidway starts jobs until the worker could be stopped in the middle of one.
func freezeMidway(t *testing.T, c *cluster, worker *replica, r client.StartRequest, midway func(*client.Accepted) bool) *client.Accepted {
	t.Helper()
	for {
		accepted := start(t, c.sdk(t), r)
		eventually(t, "the job is under way", func() bool { return midway(accepted) })
		worker.stop()
		var running bool
		err := c.db.QueryRow(patient(t), `SELECT phase IS NOT DISTINCT FROM 'running' FROM job WHERE id = $1`, accepted.JobID).
			Scan(&running)
		if err != nil {
			t.Fatal(err)
		}
		if running {
			return accepted
		}
		worker.cont()
	}
}
