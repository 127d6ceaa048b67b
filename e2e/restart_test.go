package e2e_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/provisiond/provisiond/client"
)

// killAll ends every process of the cluster at once.
func (c *cluster) killAll() {
	for _, r := range c.replicas() {
		r.kill()
	}
}

// startAll starts every process of the cluster.
func (c *cluster) startAll(t *testing.T) {
	t.Helper()
	for _, r := range c.replicas() {
		r.launch(t)
	}
	for _, r := range c.replicas() {
		r.awaitReady(t)
	}
}

func TestSecretAnswerReachesTheWorkerAfterEveryProcessWasRestarted(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{env: shortLease})
	sdk := c.sdk(t)
	secret := colour("token", 1)
	secret["secret"] = true
	accepted := start(t, sdk, tunable(object{"questions": []object{secret}}))
	job := waitJob(t, sdk, accepted.JobID, client.JobStateAwaitingInput)
	for _, worker := range c.workers {
		worker.kill()
	}
	answer(t, sdk, job, "token", object{"token": canary})
	c.killAll()
	c.startAll(t)
	// The sandbox asks again for as long as it does not get the answer.
	job = waitJob(t, sdk, accepted.JobID, client.JobStateSucceeded)
	if len(job.Questions) != 1 {
		t.Errorf("%d questions, want the one", len(job.Questions))
	}
	c.mustHaveOne(t, "sandbox", accepted.InstanceID)
}

func TestRemovedPlanStartsNothingAndItsInstancesLiveOn(t *testing.T) {
	t.Parallel()
	plan := func(id string) string { return "      - {id: " + id + ", name: Plan, description: A plan.}\n" }
	head := "services:\n  - id: sandbox\n    name: Sandbox\n    description: A simulator.\n    driver: sandbox\n    plans:\n"
	c := newCluster(t, options{catalogText: head + plan("old") + plan("new")})
	sdk := c.sdk(t)
	old := waitJob(t, sdk, start(t, sdk, request("sandbox", "old", nil)).JobID, client.JobStateSucceeded)

	c.killAll()
	c.writeCatalog(t, head+plan("new"))
	c.startAll(t)
	_, err := sdk.Start(patient(t), request("sandbox", "old", nil))
	problem, ok := errors.AsType[*client.Problem](err)
	if !ok || problem.Code != "unknown_plan" {
		t.Errorf("start of a removed plan: %v, want unknown_plan", err)
	}
	if in := getInstance(t, sdk, old.InstanceID); in.State != client.InstanceStateActive || in.Plan != "old" {
		t.Errorf("instance of a removed plan is %s, plan %s", in.State, in.Plan)
	}
	if uri := credentials(t, sdk, old)["uri"]; !strings.HasPrefix(uri, "sandbox://") {
		t.Error("the credentials of a removed plan are gone")
	}
	deleted := deprovision(t, sdk, old.InstanceID)
	c.confirmDeletion(t, &deleted.Job) // nobody can say any more that its plan does without
	waitJob(t, sdk, deleted.JobID, client.JobStateSucceeded)
	c.mustHaveNone(t, "sandbox", old.InstanceID)
}

func TestJobWithoutWorkerSaysSoAndEnds(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{workers: -1, env: map[string]string{"PROVISIOND_JOB_DEADLINE": "3s"}})
	sdk := c.sdk(t)
	canceled, late := start(t, sdk, request("sandbox", "instant", nil)), start(t, sdk, request("sandbox", "instant", nil))
	job := getJob(t, sdk, canceled.JobID)
	if job.Phase == nil || *job.Phase != client.Queued || !strings.Contains(job.Progress.Message, "no live worker") {
		t.Errorf("phase %v, progress %+v, want it to say why it is queued", job.Phase, job.Progress)
	}
	cancelJob(t, sdk, canceled.JobID)
	waitJob(t, sdk, canceled.JobID, client.JobStateCanceled)
	job = waitJob(t, sdk, late.JobID, client.JobStateFailed)
	if job.Error == nil || job.Error.Code != "deadline_exceeded" {
		t.Errorf("error %+v, want deadline_exceeded", job.Error)
	}
}
