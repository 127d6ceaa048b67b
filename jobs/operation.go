package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/jobs/catalog"
)

// errAgain: another transaction changed what this one had begun with; begin anew.
var errAgain = errors.New("changed meanwhile")

// again runs a call until nothing has changed under it.
func again[T any](call func() (T, error)) (T, error) {
	for {
		result, err := call()
		if !errors.Is(err, errAgain) && !violates(err, "job_one_live") && !violates(err, "instance_live_name") {
			return result, err
		}
	}
}

// instanceRow is an instance with what its tenant does not see. It is read under a row lock.
type instanceRow struct {
	id, tenantID, name, service, plan, driver, jobID, planVersion string

	state            InstanceState
	labels           []byte
	settings         json.RawMessage
	public, secret   map[string]any
	protected        bool
	updateRepeatable bool
	expiresAt        *time.Time
	updatedAt, now   time.Time
}

// lockInstance locks an instance and its live job, in this order; the job that waits rather than the one
// that it waits for, and nil where there is none. Errors: NotFound, errAgain.
func (s *Service) lockInstance(ctx context.Context, tx pgx.Tx, tenantID, instanceID string) (live *jobRow, in *instanceRow, err error) {
	if live, err = lockLive(ctx, tx, tenantID, instanceID); err != nil {
		return nil, nil, err
	}
	if in, err = s.lockInstanceRow(ctx, tx, tenantID, instanceID); err != nil {
		return nil, nil, err
	}
	// Under the lock of the instance no job begins.
	id, err := liveJobID(ctx, tx, tenantID, instanceID)
	if err != nil {
		return nil, nil, err
	}
	if live == nil && id != "" || live != nil && id != live.ID {
		return nil, nil, errAgain // one began or ended between the two locks
	}
	return live, in, nil
}

// liveJobID finds the instance's live job, the one that waits rather than the one that it waits for; "" is none.
func liveJobID(ctx context.Context, tx pgx.Tx, tenantID, instanceID string) (id string, err error) {
	err = tx.QueryRow(ctx, `
		SELECT id FROM job WHERE tenant_id = $1 AND instance_id = $2 AND finished_at IS NULL
		ORDER BY waits_for IS NULL LIMIT 1`, tenantID, instanceID).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return id, wrap("find live job", err)
}

// lockLive locks the instance's live job; nil where there is none.
func lockLive(ctx context.Context, tx pgx.Tx, tenantID, instanceID string) (*jobRow, error) {
	id, err := liveJobID(ctx, tx, tenantID, instanceID)
	if id == "" || err != nil {
		return nil, err
	}
	j, err := lockJob(ctx, tx, id, `FOR UPDATE`)
	if err != nil {
		return nil, err
	}
	if j.State.Final() {
		return nil, errAgain
	}
	return j, nil
}

func (s *Service) lockInstanceRow(ctx context.Context, tx pgx.Tx, tenantID, instanceID string) (*instanceRow, error) {
	in := &instanceRow{id: instanceID, tenantID: tenantID, secret: map[string]any{}}
	var public, secret []byte
	err := tx.QueryRow(ctx, `
		SELECT coalesce(name, ''), service, plan, driver, job_id, plan_version, state, labels, settings, parameters, secret_parameters,
		       protected, update_repeatable, expires_at, updated_at, clock_timestamp()
		FROM instance WHERE tenant_id = $1 AND id = $2 FOR UPDATE`, tenantID, instanceID).
		Scan(&in.name, &in.service, &in.plan, &in.driver, &in.jobID, &in.planVersion, &in.state, &in.labels, &in.settings, &public, &secret,
			&in.protected, &in.updateRepeatable, &in.expiresAt, &in.updatedAt, &in.now)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, &Error{Code: NotFound, Detail: "there is no such instance"}
	}
	if err != nil {
		return nil, fmt.Errorf("lock instance: %w", err)
	}
	err = errors.Join(json.Unmarshal(public, &in.public),
		s.cfg.Sealer.open(place{tenantID, "instance", instanceID, "secret_parameters"}, secret, &in.secret))
	return in, wrap("instance", err)
}

// parameters are all of the instance's, the secret ones included.
func (in *instanceRow) parameters() map[string]any {
	all := maps.Clone(in.public)
	maps.Copy(all, in.secret)
	return all
}

// title is the instance as people know it.
func (in *instanceRow) title() string {
	if in.name != "" {
		return fmt.Sprintf("%q", in.name)
	}
	return in.id
}

// matches checks the caller's condition on the version that it has seen; "" is none. Error:
// PreconditionFailed.
func (in *instanceRow) matches(etag string) error {
	if etag == "" || etag == instanceETag(in.updatedAt) {
		return nil
	}
	return &Error{
		Code: PreconditionFailed, InstanceID: in.id,
		Detail: "If-Match: the instance has changed since; get it again and look whether the request still fits.",
	}
}

// ETag is a strong entity tag of the instance: it changes with whatever its tenant sees of it.
func (in *Instance) ETag() string { return instanceETag(in.UpdatedAt) }

// instanceETag is the time of the last change, which is unique for the instance: changes are made under its lock.
func instanceETag(updated time.Time) string { return fmt.Sprintf(`"%d"`, updated.UnixMicro()) }

// isFree refuses an operation on an instance that another job works on, and on one that is not active.
// Errors: OperationInProgress, InstanceNotActive.
func (in *instanceRow) isFree(live *jobRow) error {
	if live != nil {
		return inProgress(live)
	}
	if in.state != InstanceActive {
		return &Error{Code: InstanceNotActive, InstanceID: in.id, JobID: in.jobID, Detail: "The instance is " + string(in.state) + "; this needs an active one."}
	}
	return nil
}

func inProgress(live *jobRow) *Error {
	return &Error{
		Code: OperationInProgress, JobID: live.ID, InstanceID: live.InstanceID, RetryAfter: live.PollAfter(),
		Detail: fmt.Sprintf("A job to %s works on the instance; wait for its end, or cancel it.", live.Operation),
	}
}

// newOperation is a job on an instance that exists, not yet inserted.
func newOperation(in *instanceRow, op Operation) *jobRow {
	j := &jobRow{tenantID: in.tenantID, driver: in.driver, epoch: 1, phase: Queued}
	j.Job = Job{
		ID: newID("job"), Operation: op, Service: in.service, Plan: in.plan, InstanceID: in.id, State: Pending,
		Progress: Progress{Step: stepQueued, Message: "Queued."}, Leftovers: []Leftover{}, Questions: []Question{},
	}
	return j
}

// insertOperation inserts the job with its times by the database's clock, and makes it the instance's last one.
func (s *Service) insertOperation(ctx context.Context, w *write, c Caller, in *instanceRow, j *jobRow) error {
	progress, err := json.Marshal(j.Progress)
	if err != nil {
		return fmt.Errorf("progress: %w", err)
	}
	deadline := s.deadlineOf(s.planOf(j))
	_, err = w.tx.Exec(ctx, `
		INSERT INTO job (id, tenant_id, instance_id, binding_id, operation, service, plan, driver, state, phase, epoch, waits_for,
		                 due_at, deadline_at, on_question, progress, labels, created_by, by_person, answers, change)
		VALUES ($1, $2, $3, nullif($4, ''), $5, $6, $7, $8, 'pending', 'queued', $9, nullif($10, ''),
		        CASE WHEN $10 = '' THEN clock_timestamp() + $11::interval END, clock_timestamp() + $12::interval,
		        $13, $14, $15, $16, $17, $18, $19)`,
		j.ID, j.tenantID, j.InstanceID, j.BindingID, j.Operation, j.Service, j.Plan, j.driver, j.epoch, j.waitsFor,
		min(deadline, s.ticketCheck()), deadline, onQuestion(j.failOnAsk), progress, in.labels, c.KeyID, c.isPerson(), j.answers, j.change)
	if err != nil {
		return fmt.Errorf("insert %s: %w", j.Operation, err)
	}
	if _, err := w.tx.Exec(ctx, `UPDATE instance SET job_id = $2, updated_at = clock_timestamp() WHERE id = $1`, in.id, j.ID); err != nil {
		return fmt.Errorf("insert %s: %w", j.Operation, err)
	}
	data := map[string]any{"operation": j.Operation, "service": j.Service, "plan": j.Plan}
	if j.BindingID != "" {
		data["binding_id"] = j.BindingID
	}
	w.event(j, c.KeyID, "job.started", data)
	w.changed = append(w.changed, j.ID)
	return nil
}

// begin inserts the job and lets it run.
func (s *Service) begin(ctx context.Context, w *write, c Caller, in *instanceRow, j *jobRow) (Result, error) {
	if err := s.insertOperation(ctx, w, c, in, j); err != nil {
		return Result{}, err
	}
	w.ticket(j)
	job, err := getJob(ctx, w.tx, c.TenantID, j.ID)
	return Result{Job: job}, err
}

func onQuestion(fail bool) string {
	if fail {
		return "fail"
	}
	return "ask"
}

// livePlan is the catalog's plan of an instance that is to be changed. Error: PlanRemoved where there is
// none any more.
func (s *Service) livePlan(in *instanceRow) (*catalog.Service, *catalog.Plan, error) {
	if service, ok := s.Catalog().Service(in.service); ok {
		if plan, ok := service.Plan(in.plan); ok {
			return service, plan, nil
		}
	}
	return nil, nil, &Error{
		Code: PlanRemoved, InstanceID: in.id,
		Detail: "The instance's plan is no longer in the catalog; the instance can be used, bound and deleted, and not be changed.",
	}
}
