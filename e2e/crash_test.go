package e2e_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/client"
)

// shortLease makes a dead worker's jobs pass on soon.
var shortLease = map[string]string{"PROVISIOND_LEASE": "1s", "PROVISIOND_SWEEP": "100ms"}

func TestWorkersKilledAtAnyMomentLeaveExactlyOneObject(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{env: shortLease})
	sdk := c.sdk(t)
	type begun struct {
		service string
		*client.Accepted
	}
	var all []begun
	for i := range rounds(10, 300) {
		all = append(all,
			begun{"postgres", start(t, sdk, smallDatabase())},
			begun{"sandbox", start(t, sdk, tunable(object{"duration": "300ms", "steps": 3}))})
		moment := time.Duration(rand.Int64N(int64(300 * time.Millisecond)))
		<-time.After(moment)
		victim := c.workers[i%len(c.workers)]
		victim.kill()
		victim.start(t)
	}
	for _, b := range all {
		job := waitJob(t, sdk, b.JobID, client.JobStateSucceeded)
		c.mustHaveOne(t, b.service, b.InstanceID)
		if b.service == "postgres" {
			useDatabase(t, credentials(t, sdk, job))
		}
	}
}

func TestWorkerKilledAroundEachOutsideCallIsReplacedByAnother(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{workers: 1, env: shortLease})
	sdk := c.sdk(t)
	worker := c.workers[0]
	begins := func(step string) func(*client.Accepted) bool {
		return func(a *client.Accepted) bool { return c.hasProgress(t, a.JobID, step) }
	}
	database := func(a *client.Accepted) bool { return c.outsideOf(t, a.InstanceID).databases == 1 }
	sandboxObject := func(a *client.Accepted) bool {
		instances, _ := c.sandboxObjects(t, a.InstanceID)
		return instances == 1
	}
	for name, moment := range map[string]struct {
		request client.StartRequest
		come    func(*client.Accepted) bool
	}{
		"before the owner role is made": {smallDatabase(), begins("create_role")},
		"before the database is made":   {smallDatabase(), begins("create_database")},
		"after the database is made":    {smallDatabase(), database},
		"before the login is made":      {smallDatabase(), begins("create_login")},
		"after the object is made":      {tunable(object{"duration": "900ms"}), sandboxObject},
	} {
		t.Run(name, func(t *testing.T) {
			accepted := start(t, sdk, moment.request)
			eventually(t, "the moment "+name, func() bool { return moment.come(accepted) })
			worker.kill()
			worker.start(t)
			waitJob(t, sdk, accepted.JobID, client.JobStateSucceeded)
			c.mustHaveOne(t, moment.request.Service, accepted.InstanceID)
		})
	}
	t.Run("right before the object is made", func(t *testing.T) {
		ctx := patient(t)
		lock, err := c.db.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Rollback(ctx) //nolint:errcheck // ends the lock in any case
		// Lets the driver look for the object, and holds it where it makes one.
		if _, err := lock.Exec(ctx, `LOCK TABLE sandbox_object IN SHARE MODE`); err != nil {
			t.Fatal(err)
		}
		accepted := start(t, sdk, request("sandbox", "instant", nil))
		var held int32
		eventually(t, "the driver makes the object", func() bool {
			held = c.lockWaiter(t, makeObject)
			return held != 0
		})
		worker.kill()
		// The call never arrived: the server would otherwise not notice that its client is gone.
		if _, err := c.db.Exec(ctx, `SELECT pg_terminate_backend($1)`, held); err != nil {
			t.Fatal(err)
		}
		if err := lock.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
		worker.start(t)
		waitJob(t, sdk, accepted.JobID, client.JobStateSucceeded)
		c.mustHaveOne(t, "sandbox", accepted.InstanceID)
	})
}

// makeObject are words of the statement by which the sandbox makes an object.
const makeObject = "INTO sandbox_object"

// lockWaiter is the process on the server whose statement with these words waits for a lock, 0 for none.
func (c *cluster) lockWaiter(t *testing.T, words string) int32 {
	t.Helper()
	var pid int32
	err := c.db.QueryRow(patient(t), `
		SELECT coalesce(max(pid), 0) FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%' AND pid <> pg_backend_pid()`, words).Scan(&pid)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// hasEvent reports whether the job's history has an event of that type.
func (c *cluster) hasEvent(t *testing.T, jobID, eventType string) bool {
	t.Helper()
	var has bool
	err := c.db.QueryRow(patient(t), `SELECT EXISTS (SELECT FROM event WHERE job_id = $1 AND type = $2)`, jobID, eventType).Scan(&has)
	if err != nil {
		t.Fatal(err)
	}
	return has
}

// hasProgress reports whether a job's driver has announced the step.
func (c *cluster) hasProgress(t *testing.T, jobID, step string) bool {
	t.Helper()
	var has bool
	err := c.db.QueryRow(patient(t), `
		SELECT EXISTS (SELECT FROM event WHERE job_id = $1 AND type = 'job.progress' AND data ->> 'step' = $2)`, jobID, step).
		Scan(&has)
	if err != nil {
		t.Fatal(err)
	}
	return has
}

// record is all that the database holds of a job, as text.
func (c *cluster) record(t *testing.T, jobID string) []string {
	t.Helper()
	rows, err := c.db.Query(patient(t), `
		SELECT to_jsonb(j)::text FROM job j WHERE id = $1
		UNION ALL SELECT to_jsonb(i)::text FROM instance i JOIN job j ON j.instance_id = i.id WHERE j.id = $1
		UNION ALL SELECT to_jsonb(b)::text FROM binding b JOIN job j ON j.binding_id = b.id WHERE j.id = $1
		UNION ALL (SELECT to_jsonb(e)::text FROM event e WHERE job_id = $1 ORDER BY seq)`, jobID)
	if err != nil {
		t.Fatal(err)
	}
	record, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return record
}
