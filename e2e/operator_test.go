package e2e_test

import (
	"strings"
	"testing"

	"github.com/provisiond/provisiond/client"
)

// The operator's commands beside running replicas.
func TestOperatorTakesAJobFromItsWorkerAndGivesUpAnInstance(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{workers: 1, env: shortLease})
	sdk := c.sdk(t)
	shows := func(want string, args ...string) {
		t.Helper()
		if got := command(t, c.environ(), args...); !strings.Contains(got, want) {
			t.Errorf("%s shows no %q:\n%s", strings.Join(args, " "), want, got)
		}
	}
	hangs := start(t, sdk, tunable(object{"duration": "1h", "steps": 3}))
	eventually(t, "it runs and has made something", func() bool {
		instances, _ := c.sandboxObjects(t, hangs.InstanceID)
		return instances == 1
	})
	shows(hangs.JobID, "jobs", "list", "--tenant", "shop")
	shows("sandbox", "workers")
	command(t, c.environ(), "jobs", "fail", hangs.JobID, "--reason", "it hangs")
	job := waitJob(t, sdk, hangs.JobID, client.JobStateFailed)
	if job.Error == nil || job.Error.Code != "failed_by_operator" || !strings.Contains(job.Error.Message, "it hangs") {
		t.Errorf("error %+v", job.Error)
	}
	c.mustHaveNone(t, "sandbox", hangs.InstanceID)
	shows("operator.fail_job", "jobs", "show", hangs.JobID)

	kept := start(t, sdk, tunable(nil))
	waitJob(t, sdk, kept.JobID, client.JobStateSucceeded)
	command(t, c.environ(), "instances", "forget", kept.InstanceID)
	if state := getInstance(t, sdk, kept.InstanceID).State; state != client.InstanceStateDeleted {
		t.Errorf("the forgotten instance is %s", state)
	}
	c.mustHaveOne(t, "sandbox", kept.InstanceID)
	shows(kept.InstanceID, "orphans", "list")
	shows(kept.InstanceID, "reconcile")
	shows(": good: ", "catalog", "check", c.catalog, "--against-database")
}
