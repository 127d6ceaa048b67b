package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// jobRow is a job with what its tenant does not see. It is read under a row lock and written back by
// saveJob.
type jobRow struct {
	Job
	tenantID string
	driver   string
	// phase is as stored; Job.Phase is as shown.
	phase Phase
	// cancelRequested: the job is to end as Canceled, as soon as no worker runs it.
	cancelRequested bool
	ending          State // "", Failed or Canceled: decided, cleaning up
	waitsFor        string
	epoch           int64
	leaseUntil      *time.Time
	dueAt           *time.Time
	attempts        int
	failOnAsk       bool
	byPerson        bool // started with a person's key
	workLeft        *time.Duration
	answers         []byte
	// change is what an update changes the instance to, sealed.
	change []byte
	// touched: the driver was called for the instance, so something may exist outside.
	touched bool
	// hasSuccessor: a deprovision waits for this job's end and cleans up in its stead.
	hasSuccessor bool
	// owner is the worker's ID while the phase is running.
	owner string
	// from is the status as it was read.
	from status
}

const jobRowSelect = `
	SELECT j.id, j.tenant_id, j.instance_id, coalesce(j.binding_id, ''), j.operation, j.service, j.plan, j.driver,
	       j.state, coalesce(j.phase, ''), coalesce(j.ending, ''), j.cancel_requested, coalesce(j.waits_for, ''), j.epoch, j.version,
	       coalesce(j.owner, ''), j.lease_until, j.due_at, j.deadline_at, j.attempts, j.on_question = 'fail', j.by_person, j.work_left,
	       j.answers, j.change, j.progress, j.error, j.leftovers, j.created_at
	FROM job j WHERE j.id = $1 `

// jobSurroundings is read by a statement of its own, after the lock: only then does its snapshot
// hold what the lock was waited for. The successor is locked, so that it is not called off meanwhile.
const jobSurroundings = `
	WITH successor AS (SELECT 1 FROM job WHERE waits_for = $1 FOR UPDATE)
	SELECT clock_timestamp(), i.touched, EXISTS (SELECT FROM successor)
	FROM job j JOIN instance i ON i.id = j.instance_id WHERE j.id = $1`

// lockJob reads a job under a row lock. It returns NotFound where the row does not fit the condition,
// in which $2 is the first of args.
func lockJob(ctx context.Context, tx pgx.Tx, jobID, condition string, args ...any) (*jobRow, error) {
	batch := &pgx.Batch{}
	batch.Queue(jobRowSelect+condition, append([]any{jobID}, args...)...)
	batch.Queue(jobSurroundings, jobID)
	results := tx.SendBatch(ctx, batch)
	j := &jobRow{}
	var progress, jobErr, leftovers []byte
	err := results.QueryRow().Scan(&j.ID, &j.tenantID, &j.InstanceID, &j.BindingID, &j.Operation, &j.Service, &j.Plan, &j.driver,
		&j.State, &j.phase, &j.ending, &j.cancelRequested, &j.waitsFor, &j.epoch, &j.Version,
		&j.owner, &j.leaseUntil, &j.dueAt, &j.DeadlineAt, &j.attempts, &j.failOnAsk, &j.byPerson, &j.workLeft,
		&j.answers, &j.change, &progress, &jobErr, &leftovers, &j.CreatedAt)
	if err == nil {
		err = results.QueryRow().Scan(&j.Now, &j.touched, &j.hasSuccessor)
	}
	err = errors.Join(err, results.Close())
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, &Error{Code: NotFound, Detail: "there is no such job"}
	}
	if err != nil {
		return nil, fmt.Errorf("lock job: %w", err)
	}
	j.from = status{j.State, j.phase}
	return j, errors.Join(json.Unmarshal(progress, &j.Progress), unmarshalMaybe(jobErr, &j.Error), json.Unmarshal(leftovers, &j.Leftovers))
}

// neverRan reports whether no worker has had the job for sure.
func (j *jobRow) neverRan() bool { return j.from == queued && j.epoch == 1 || j.epoch == 0 }

// lockHeld locks a job for the worker that claimed it with the epoch; errLostLease where it no longer
// holds it.
func lockHeld(ctx context.Context, tx pgx.Tx, jobID string, epoch int64) (*jobRow, error) {
	j, err := lockJob(ctx, tx, jobID, `AND j.epoch = $2 AND j.phase = 'running' FOR UPDATE`, epoch)
	if errors.Is(err, NotFound) {
		return nil, errLostLease
	}
	return j, err
}

// lockOwn locks a tenant's job. Error: NotFound.
func lockOwn(ctx context.Context, tx pgx.Tx, tenantID, jobID string) (*jobRow, error) {
	return lockJob(ctx, tx, jobID, `AND j.tenant_id = $2 FOR UPDATE`, tenantID)
}

// to moves the job; saveJob refuses what the state machine does not know.
func (j *jobRow) to(s status) {
	j.State, j.phase = s.state, s.phase
	if s != running {
		j.owner, j.leaseUntil = "", nil
	}
	if s != awaiting {
		j.workLeft = nil
	}
}

// due makes the sweep look at the job after d, and at its deadline at the latest.
func (j *jobRow) due(d time.Duration) {
	at := j.Now.Add(d)
	if at.After(j.DeadlineAt) {
		at = j.DeadlineAt
	}
	j.dueAt = &at
}

// saveJob writes a locked job back and notes that it changed.
func (s *Service) saveJob(ctx context.Context, w *write, j *jobRow) error {
	if err := checkTransition(j.from, status{j.State, j.phase}); err != nil {
		return err
	}
	progress, err := json.Marshal(j.Progress)
	if err != nil {
		return fmt.Errorf("save job: %w", err)
	}
	leftovers, err := json.Marshal(j.Leftovers)
	if err != nil {
		return fmt.Errorf("save job: %w", err)
	}
	jobErr, err := marshalMaybe(j.Error)
	if err != nil {
		return fmt.Errorf("save job: %w", err)
	}
	err = w.tx.QueryRow(ctx, `
		UPDATE job SET
			state = $2, phase = nullif($3, ''), ending = nullif($4, ''), waits_for = nullif($5, ''), epoch = $6,
			owner = nullif($7, ''), lease_until = $8, due_at = $9, deadline_at = $10, attempts = $11, work_left = $12,
			progress = $13, error = $14, leftovers = $15, cancel_requested = $16, version = version + 1, updated_at = clock_timestamp(),
			finished_at = CASE WHEN $2 IN ('succeeded', 'failed', 'canceled') THEN clock_timestamp() END
		WHERE id = $1
		RETURNING version`,
		j.ID, j.State, j.phase, j.ending, j.waitsFor, j.epoch,
		j.owner, j.leaseUntil, j.dueAt, j.DeadlineAt, j.attempts, j.workLeft,
		progress, jobErr, leftovers, j.cancelRequested).Scan(&j.Version)
	if err != nil {
		return fmt.Errorf("save job: %w", err)
	}
	j.from = status{j.State, j.phase}
	w.changed = append(w.changed, j.ID)
	return nil
}

// unmarshalList saves most polls the work: most jobs have neither questions nor leftovers.
func unmarshalList[T any](text []byte, list *[]T) error {
	if string(text) == "[]" {
		return nil
	}
	return json.Unmarshal(text, list)
}

func unmarshalMaybe[T any](text []byte, value **T) error {
	if text == nil {
		return nil
	}
	return json.Unmarshal(text, value)
}

func marshalMaybe[T any](value *T) ([]byte, error) {
	if value == nil {
		return nil, nil
	}
	return json.Marshal(value)
}
