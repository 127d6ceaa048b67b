package e2e_test

import (
	"testing"

	"github.com/provisiond/provisiond/client"
)

func TestWholeLifeWithEachRequestOnAnotherReplica(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{})
	sdk := c.sdk(t)
	c.balancer.served()

	started := start(t, sdk, request("postgres", "small", nil))
	if started.Job.State != client.JobStateAwaitingInput {
		t.Fatalf("state without the region: %s", started.Job.State)
	}
	answer(t, sdk, &started.Job, "region", object{"region": "eu"})
	job := waitJob(t, sdk, started.JobID, client.JobStateSucceeded)
	useDatabase(t, credentials(t, sdk, job))
	c.mustHaveOne(t, "postgres", job.InstanceID)

	deleted := deprovision(t, sdk, job.InstanceID)
	c.confirmDeletion(t, &deleted.Job)
	waitJob(t, sdk, deleted.JobID, client.JobStateSucceeded)
	c.mustHaveNone(t, "postgres", job.InstanceID)
	if state := getInstance(t, sdk, job.InstanceID).State; state != client.InstanceStateDeleted {
		t.Errorf("instance is %s after its deletion", state)
	}
	mustAlternate(t, c.balancer.served())
}
