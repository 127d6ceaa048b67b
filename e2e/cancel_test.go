package e2e_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/provisiond/provisiond/client"
)

func cancelJob(t *testing.T, sdk *client.SDK, id string) {
	t.Helper()
	if _, err := sdk.Cancel(patient(t), id); err != nil {
		t.Fatalf("cancel %s: %v", id, err)
	}
}

func waitingJobEnds(t *testing.T, c *cluster) {
	sdk := c.sdk(t)
	question := object{"questions": []object{colour("colour", 1)}}
	asked := func() *client.Job {
		return waitJob(t, sdk, start(t, sdk, tunable(question)).JobID, client.JobStateAwaitingInput)
	}
	answered, canceled, deleted := asked(), asked(), asked()
	answer(t, sdk, answered, "colour", object{"colour": "red"})
	cancelJob(t, sdk, canceled.ID)
	deletion := deprovision(t, sdk, deleted.InstanceID)
	waitJob(t, sdk, answered.ID, client.JobStateSucceeded)
	waitJob(t, sdk, canceled.ID, client.JobStateCanceled)
	waitJob(t, sdk, deleted.ID, client.JobStateCanceled)
	waitJob(t, sdk, deletion.JobID, client.JobStateSucceeded)
	c.mustHaveOne(t, "sandbox", answered.InstanceID)
	c.mustHaveNone(t, "sandbox", canceled.InstanceID)
	c.mustHaveNone(t, "sandbox", deleted.InstanceID)
}

func deleteDuringCreate(t *testing.T, c *cluster) {
	sdk := c.sdk(t)
	for duration, phase := range map[string]client.JobPhase{"900ms": client.Running, "1h": client.WaitingOnProvider} {
		creation := start(t, sdk, tunable(object{"duration": duration}))
		c.awaitPhase(t, creation.JobID, phase)
		deletion := deprovision(t, sdk, creation.InstanceID)
		waitJob(t, sdk, deletion.JobID, client.JobStateSucceeded)
		c.mustHaveNone(t, "sandbox", creation.InstanceID)
		var overlap int
		err := c.db.QueryRow(patient(t), `
			SELECT count(*) FROM job a JOIN job b ON a.id = $1 AND b.id = $2
			JOIN event began ON began.job_id = b.id AND began.type = 'job.running'
			WHERE a.finished_at IS NULL OR began.seq < (SELECT max(seq) FROM event WHERE job_id = a.id)`,
			creation.JobID, deletion.JobID).Scan(&overlap)
		if err != nil || overlap != 0 {
			t.Errorf("the deletion ran while the creation did (%v)", err)
		}
	}
}

// awaitPhase waits until a job is seen in a phase.
func (c *cluster) awaitPhase(t *testing.T, jobID string, want client.JobPhase) {
	t.Helper()
	eventually(t, "job "+jobID+" is "+string(want), func() bool {
		var phase *string
		if err := c.db.QueryRow(patient(t), `SELECT phase FROM job WHERE id = $1`, jobID).Scan(&phase); err != nil {
			t.Fatal(err)
		}
		return phase != nil && *phase == string(want)
	})
}

func eachStateCancels(t *testing.T, c *cluster) {
	sdk := c.sdk(t)
	for duration, phase := range map[string]client.JobPhase{"900ms": client.Running, "1h": client.WaitingOnProvider} {
		accepted := start(t, sdk, tunable(object{"duration": duration}))
		c.awaitPhase(t, accepted.JobID, phase)
		if job := getJob(t, sdk, accepted.JobID); !job.DeadlineAt.After(job.CreatedAt) {
			t.Errorf("%s: no deadline", phase)
		}
		cancelJob(t, sdk, accepted.JobID)
		waitJob(t, sdk, accepted.JobID, client.JobStateCanceled)
		c.mustHaveNone(t, "sandbox", accepted.InstanceID)
	}
}

func noCallAfterCanceled(t *testing.T, c *cluster) {
	sdk := c.sdk(t)
	_, err := c.db.Exec(patient(t), `
		CREATE TABLE e2e_call (instance_id text, at timestamptz DEFAULT clock_timestamp());
		CREATE FUNCTION e2e_note() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN INSERT INTO e2e_call VALUES (NEW.instance_id); RETURN NEW; END';
		CREATE TRIGGER e2e_note AFTER INSERT ON sandbox_object FOR EACH ROW EXECUTE FUNCTION e2e_note()`)
	if err != nil {
		t.Fatal(err)
	}
	jobs := make([]*client.Accepted, rounds(20, 500))
	inParallel(len(jobs), func(i int) {
		var err error
		jobs[i], err = sdk.Start(patient(t), request("sandbox", "instant", nil))
		if err != nil {
			t.Error(err)
			return
		}
		<-time.After(rand.N(30 * time.Millisecond))
		// It may have succeeded before.
		_, _ = sdk.Cancel(patient(t), jobs[i].JobID)
	})
	for _, accepted := range jobs {
		job, err := sdk.WaitJob(patient(t), accepted.JobID)
		if err != nil || job.State == client.JobStateAwaitingInput {
			t.Fatalf("job %+v: %v", job, err)
		}
		if job.State == client.JobStateCanceled {
			c.mustHaveNone(t, "sandbox", accepted.InstanceID)
		}
	}
	var late int
	err = c.db.QueryRow(patient(t), `
		SELECT count(*) FROM e2e_call k JOIN job j USING (instance_id)
		WHERE j.state = 'canceled' AND k.at > j.finished_at`).Scan(&late)
	if err != nil || late != 0 {
		t.Errorf("outside calls after the job was shown as canceled: %d (%v)", late, err)
	}
}
