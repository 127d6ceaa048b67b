package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// OperatorJob is a job with what its tenant does not see.
type OperatorJob struct {
	Job
	Tenant string // the tenant's name
	Driver string
	// Owner is the worker that runs the job until LeaseUntil unless it renews; "" and nil where none does.
	Owner      string
	LeaseUntil *time.Time
	// Epoch counts how often the right to run the job has passed on.
	Epoch int64
	// Attempts are the failed tries in a row.
	Attempts int
	// WaitsFor is the job that must end before; "" for none.
	WaitsFor string
	// DueAt is when the sweep looks at the job next.
	DueAt *time.Time
}

const operatorJobSelect = `
	SELECT ` + jobColumns + `,
	       t.name, j.driver, coalesce(j.owner, ''), j.lease_until, j.epoch, j.attempts, coalesce(j.waits_for, ''), j.due_at
	FROM job j JOIN tenant t ON t.id = j.tenant_id `

// shownPhase is the phase of a job as Job.show shows it.
const shownPhase = `CASE
	WHEN j.state <> 'pending' THEN ''
	WHEN j.ending = 'failed' THEN 'cleaning_up'
	WHEN j.cancel_requested THEN 'canceling'
	ELSE j.phase END`

func scanOperatorJob(row pgx.Row) (j OperatorJob, err error) {
	j.Job, err = scanJob(row, &j.Tenant, &j.Driver, &j.Owner, &j.LeaseUntil, &j.Epoch, &j.Attempts, &j.WaitsFor, &j.DueAt)
	return j, err
}

// OperatorJobFilter picks jobs; zero fields filter nothing.
type OperatorJobFilter struct {
	Tenant     string // a name
	State      State
	Phase      Phase
	InstanceID string
	Limit      int // 0 = 50
}

// ListJobs lists jobs of all tenants, newest first. Error: NotFound of the filter's tenant or instance.
func (o *Operator) ListJobs(ctx context.Context, f OperatorJobFilter) ([]OperatorJob, error) {
	if f.Limit == 0 {
		f.Limit = 50
	}
	rows, err := o.s.pool.Query(ctx, operatorJobSelect+`
		WHERE ($1 = '' OR t.name = $1) AND ($2 = '' OR j.state = $2) AND ($3 = '' OR `+shownPhase+` = $3) AND ($4 = '' OR j.instance_id = $4)
		ORDER BY j.id DESC LIMIT $5`, f.Tenant, f.State, f.Phase, f.InstanceID, f.Limit)
	if err != nil {
		return nil, wrap("list jobs", err)
	}
	jobs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (OperatorJob, error) { return scanOperatorJob(row) })
	if err == nil && len(jobs) == 0 {
		return nil, o.mustExist(ctx, f.Tenant, f.InstanceID)
	}
	return jobs, wrap("list jobs", err)
}

// JobDetails is all that is known of a job.
type JobDetails struct {
	OperatorJob
	Instance Instance
	Events   []Event  // oldest first
	Orphans  []Orphan // of the instance, not ended
}

// ShowJob reads a job of any tenant. Error: NotFound.
func (o *Operator) ShowJob(ctx context.Context, jobID string) (JobDetails, error) {
	var d JobDetails
	var err error
	d.OperatorJob, err = scanOperatorJob(o.s.pool.QueryRow(ctx, operatorJobSelect+`WHERE j.id = $1`, jobID))
	if errors.Is(err, pgx.ErrNoRows) {
		return d, &Error{Code: NotFound, Detail: "there is no such job"}
	}
	if err != nil {
		return d, wrap("show job", err)
	}
	if d.Instance, err = scanInstance(o.s.pool.QueryRow(ctx, instanceSelect+`WHERE id = $1`, d.InstanceID)); err != nil {
		return d, wrap("show instance", err)
	}
	if d.Orphans, err = o.ListOrphans(ctx, OrphanFilter{InstanceID: d.InstanceID}); err != nil {
		return d, err
	}
	rows, err := o.s.pool.Query(ctx, `
		SELECT id, type, coalesce(job_id, ''), coalesce(instance_id, ''), actor, at, data FROM event WHERE job_id = $1 ORDER BY seq`, jobID)
	if err != nil {
		return d, wrap("list events", err)
	}
	d.Events, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Event])
	return d, wrap("list events", err)
}

// onJob changes a job of any tenant that is not finished. Errors: NotFound, JobFinished.
func (o *Operator) onJob(ctx context.Context, jobID string, change func(*write, *jobRow) error) error {
	return o.write(ctx, func(w *write) error {
		j, err := lockJob(ctx, w.tx, jobID, `FOR UPDATE`)
		if err != nil {
			return err
		}
		if j.State.Final() {
			return &Error{Code: JobFinished, JobID: j.ID, Detail: "The job has finished as " + string(j.State) + ", for good. " + insteadOf(j)}
		}
		return change(w, j)
	})
}

// insteadOf says what to do where a job has finished.
func insteadOf(j *jobRow) string {
	switch {
	case j.State == Succeeded:
		return "Nothing is left to do."
	case j.Operation == OpProvision:
		return "Its user deletes the instance and starts another; what is left of it is under orphans list."
	case j.Operation.removes():
		return "What is left is under orphans list; orphans retry removes it."
	default:
		return "Its user sends the request again."
	}
}

// RetryJob makes a job due now that waits for a worker, for its next try or for its back end, with its
// tries counted anew. Its deadline stays. Errors: NotFound, JobFinished, NotReady with what the job waits for.
func (o *Operator) RetryJob(ctx context.Context, jobID, why string) error {
	return o.onJob(ctx, jobID, func(w *write, j *jobRow) error {
		if err := mayRetry(j); err != nil {
			return err
		}
		j.attempts = 0
		w.event(j, actorOperator, "operator.retry_job", o.audit(why))
		return o.s.reissue(ctx, w, j)
	})
}

func mayRetry(j *jobRow) error {
	e := &Error{Code: NotReady, JobID: j.ID}
	switch {
	case j.State == AwaitingInput:
		e.Detail = "The job awaits an answer of its user."
	case j.phase == Running:
		e.Detail = "A worker runs the job, " + j.owner + "; where it hangs, jobs fail takes the job from it."
	case j.waitsFor != "":
		e.Detail = "The job waits for the end of " + j.waitsFor + "; retry or fail that one."
	default:
		return nil
	}
	return e
}

// FailJob ends a job as failed, with the clean-up that a failure has. A worker that runs it loses its lease:
// it writes nothing more, and the clean-up begins when the lease would have lapsed, by when the worker calls
// nothing any more, too. Errors: NotFound, JobFinished also where it cleans up for its end already.
func (o *Operator) FailJob(ctx context.Context, jobID, why string) error {
	return o.onJob(ctx, jobID, func(w *write, j *jobRow) error {
		if j.ending != "" {
			return &Error{Code: JobFinished, JobID: j.ID, Detail: "The job cleans up for its end as " + string(j.ending) + "; jobs forget ends it without."}
		}
		w.event(j, actorOperator, "operator.fail_job", o.audit(why))
		e := &JobError{Code: codeOperator, Message: "An operator has ended the job: " + because(why) + "."}
		if j.phase == Running {
			return o.takeLease(ctx, w, j, e)
		}
		return o.s.fail(ctx, w, j, e, actorOperator)
	})
}

// takeLease takes a job from the worker that runs it, for what is left of the lease. The sweep settles its end.
func (o *Operator) takeLease(ctx context.Context, w *write, j *jobRow, e *JobError) error {
	j.ending, j.Error = Failed, e
	j.noteUnremoved()
	j.owner = actorOperator
	j.epoch++
	j.Progress = Progress{Step: "stopping", Message: "An operator has ended the job; waits for its worker to stop."}
	return o.s.saveJob(ctx, w, j)
}

// ForgetJob ends a job at once as failed, without any clean-up: for a back end that does not come back. What
// the job may have made is put on the ledger of orphans and not tried again. Errors: NotFound, JobFinished.
func (o *Operator) ForgetJob(ctx context.Context, jobID, why string) error {
	return o.onJob(ctx, jobID, func(w *write, j *jobRow) error {
		if err := closeQuestions(ctx, w, j.ID, QuestionWithdrawn); err != nil {
			return err
		}
		w.event(j, actorOperator, "operator.forget_job", o.audit(why))
		j.ending = Failed
		j.Error = &JobError{Code: codeForgotten, Message: "An operator has ended the job without a clean-up: " + because(why) + "."}
		if j.mayLeave() {
			j.Leftovers = leftoversOf(j, nil, j.Error)
		}
		return o.s.finish(ctx, w, j, Failed, actorOperator)
	})
}

// mayLeave reports whether something may be outside that would be cleaned up or removed by the job, and that
// no deprovision waits to remove.
func (j *jobRow) mayLeave() bool {
	switch j.Operation {
	case OpProvision:
		return j.touched && !j.hasSuccessor
	case OpBind, OpRotate, OpUnbind, OpDeprovision:
		return !j.neverRan() && !j.hasSuccessor
	case OpUpdate, OpCheck:
	}
	return false
}
