package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// workerSeen is how old a worker's last sign of life may be for it to count as alive.
const workerSeen = "30 seconds"

// workerAlive tells whether a live worker has the job's driver.
const workerAlive = `EXISTS (
	SELECT 1 FROM worker w WHERE driver = ANY (w.drivers) AND w.seen_at > clock_timestamp() - interval '` + workerSeen + `')`

// queueShown bounds how many jobs before a queued one are counted: a long queue must not make polls slow.
const queueShown = 100

// queuePosition counts the jobs with the driver that came into the queue before. Those that wait for their
// next try, or for another job, are not in it.
const queuePosition = `(
	SELECT count(*) FROM (
		SELECT 1 FROM job q
		WHERE q.driver = j.driver AND q.id < j.id AND q.phase = 'queued' AND q.waits_for IS NULL AND q.attempts = 0
		LIMIT 101) AS ahead)`

// jobSelect is the job as its tenant sees it: one SELECT, whatever is asked.
const jobSelect = `SELECT ` + jobColumns + ` FROM job j `

const jobColumns = `
	       j.id, j.operation, j.service, j.plan, j.driver, j.instance_id, coalesce(j.binding_id, ''),
	       j.state, coalesce(j.phase, ''), coalesce(j.ending, ''), j.cancel_requested, j.progress, j.error, j.leftovers, j.version,
	       j.created_at, j.updated_at, j.finished_at, j.deadline_at, clock_timestamp(), j.waits_for IS NOT NULL,
	       CASE WHEN j.phase = 'queued' THEN ` + workerAlive + ` ELSE true END,
	       CASE WHEN j.phase = 'queued' AND j.waits_for IS NULL AND j.attempts = 0 THEN ` + queuePosition + ` ELSE 0 END,
	       (SELECT coalesce(json_agg(json_build_object(
	               'id', q.id, 'name', q.name, 'message', q.message, 'schema', q.schema, 'secret', q.secret,
	               'answerable_by', q.answerable_by, 'default', q.default_answer, 'price', q.quote -> 'price', 'state', q.state,
	               'asked_at', q.asked_at, 'expires_at', q.expires_at) ORDER BY q.id), '[]')
	        FROM question q WHERE q.job_id = j.id)`

// Get reads a job: one SELECT. Error: NotFound.
func (s *Service) Get(ctx context.Context, c Caller, jobID string) (Job, error) {
	return getJob(ctx, s.pool, c.TenantID, jobID)
}

// querier is a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func getJob(ctx context.Context, q querier, tenantID, jobID string) (Job, error) {
	j, err := scanJob(q.QueryRow(ctx, jobSelect+`WHERE j.tenant_id = $1 AND j.id = $2`, tenantID, jobID))
	if errors.Is(err, pgx.ErrNoRows) {
		return Job{}, &Error{Code: NotFound, Detail: "there is no such job"}
	}
	if err != nil {
		return Job{}, fmt.Errorf("get job: %w", err)
	}
	return j, nil
}

// scanJob reads jobColumns, and what comes behind them into more.
func scanJob(row pgx.Row, more ...any) (Job, error) {
	var j Job
	var driver string
	var ending State
	var canceled, blocked, worker bool
	var ahead int
	var progress, jobErr, leftovers, questions []byte
	err := row.Scan(append([]any{
		&j.ID, &j.Operation, &j.Service, &j.Plan, &driver, &j.InstanceID, &j.BindingID,
		&j.State, &j.Phase, &ending, &canceled, &progress, &jobErr, &leftovers, &j.Version,
		&j.CreatedAt, &j.UpdatedAt, &j.FinishedAt, &j.DeadlineAt, &j.Now, &blocked, &worker, &ahead, &questions,
	}, more...)...)
	if err != nil {
		return Job{}, err
	}
	j.Leftovers, j.Questions = []Leftover{}, []Question{}
	err = errors.Join(json.Unmarshal(progress, &j.Progress), unmarshalList(leftovers, &j.Leftovers),
		unmarshalList(questions, &j.Questions), unmarshalMaybe(jobErr, &j.Error))
	if err != nil {
		return Job{}, fmt.Errorf("job %s: %w", j.ID, err)
	}
	j.show(ending, canceled, driver, blocked, worker)
	if worker && ahead > 0 && j.Progress.Step == stepQueued {
		j.Progress.Message = "Queued: " + jobsBefore(ahead)
	}
	return j, nil
}

func jobsBefore(n int) string {
	switch {
	case n == 1:
		return "1 job with this driver is before it."
	case n > queueShown:
		return fmt.Sprintf("more than %d jobs with this driver are before it.", queueShown)
	default:
		return fmt.Sprintf("%d jobs with this driver are before it.", n)
	}
}

// show turns what is stored into what is shown.
func (j *Job) show(ending State, canceled bool, driver string, blocked, worker bool) {
	if !j.State.Final() && ending == Failed {
		j.Error = nil // it shows with the end, once that is settled
	}
	switch {
	case j.State == Pending && canceled && ending != Failed:
		j.Phase = Canceling
	case j.State == Pending && ending == Failed:
		j.Phase = CleaningUp
	case j.Phase == Queued && blocked:
		j.Progress = Progress{Step: stepQueued, Message: "Waits for the job before it on this instance to end."}
	}
	if j.State == Pending && !worker && !blocked {
		j.Progress.Message = fmt.Sprintf("Queued: no live worker has the driver %q. The job waits for one until its deadline.", driver)
	}
}

// The bounds of PollAfter.
const (
	pollFirst = 500 * time.Millisecond
	pollLast  = 10 * time.Second
)

// PollAfter is the server's hint for the next poll: a tenth of the job's age, at least half a second
// and at most ten; 0 when the job is finished. Two seconds where people are awaited.
func (j *Job) PollAfter() time.Duration {
	switch {
	case j.State.Final():
		return 0
	case j.State == AwaitingInput:
		return 2 * time.Second
	default:
		return min(max(j.Now.Sub(j.CreatedAt)/10, pollFirst), pollLast).Truncate(time.Millisecond)
	}
}
