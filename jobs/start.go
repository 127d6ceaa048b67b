package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/provider"
)

// StartRequest is what a start call asks for. Parameters and Answers are as encoding/json decodes them.
type StartRequest struct {
	Service, Plan string
	Name          string // "" = none
	Parameters    map[string]any
	// Answers are given in advance, by question name: the content or, for a question of one field,
	// its bare value.
	Answers        map[string]any
	FailOnQuestion bool
	Labels         map[string]string
	// ExpiresIn is the instance's time to live; 0 takes the plan's default.
	ExpiresIn time.Duration
	// Protected refuses every deletion until it is taken off.
	Protected bool
	// Bind: make a first binding too.
	Bind           bool
	IdempotencyKey string // "" = none
}

// Result is a job that a call has started, found or changed.
type Result struct {
	Job Job
	// Existing: nothing was started; the job was there before (HTTP 200 rather than 202).
	Existing bool
	// Replayed: the first answer to the same request again.
	Replayed bool
}

// Start inserts an instance with its job, and the ticket for a worker, in one transaction. When it
// returns, the job can be read on every replica.
//
// Errors: UnknownService, UnknownPlan, InvalidRequest, PersonRequired, NameTaken, OperationInProgress
// while the instance of the name is being deleted, IdempotencyKeyReused, IdempotencyInProgress.
func (s *Service) Start(ctx context.Context, c Caller, r StartRequest) (Result, error) {
	plan, blocked := s.plan(c, r)
	if len(blocked) > 0 {
		return Result{}, blockedError(blocked)
	}
	result, err := s.startOnce(ctx, c, r, plan)
	if violates(err, "instance_live_name") {
		// Another start has committed since we looked: now it can be seen.
		result, err = s.startOnce(ctx, c, r, plan)
	}
	return result, err
}

func (s *Service) startOnce(ctx context.Context, c Caller, r StartRequest, p *startPlan) (Result, error) {
	return s.idempotent(ctx, c, r.IdempotencyKey, "start", r.withoutKey(), func(w *write) (Result, error) {
		if r.Name != "" {
			existing, found, err := s.sameName(ctx, w, c, r)
			if err != nil || found {
				return existing, err
			}
		}
		job, err := s.insertStart(ctx, w, c, r, p)
		return Result{Job: job}, err
	})
}

// withoutKey is the request as compared between calls of one idempotency key.
func (r StartRequest) withoutKey() StartRequest {
	r.IdempotencyKey = ""
	return r
}

// sameStart is what makes two starts of one name equal.
type sameStart struct {
	Service, Plan string
	Parameters    map[string]any
}

func (r StartRequest) same() sameStart { return sameStart{r.Service, r.Plan, r.Parameters} }

// sameName finds the live instance of the name, if there is one. Errors: NameTaken when it was started
// with something else, OperationInProgress while it is being deleted.
func (s *Service) sameName(ctx context.Context, w *write, c Caller, r StartRequest) (Result, bool, error) {
	var instanceID, jobID, last string
	var digest []byte
	var state InstanceState
	err := w.tx.QueryRow(ctx, `
		SELECT i.id, i.state, i.job_id, coalesce((SELECT min(j.id) FROM job j WHERE j.instance_id = i.id AND j.operation = 'provision'), i.job_id), i.start_digest
		FROM instance i
		WHERE i.tenant_id = $1 AND i.name = $2 AND i.state NOT IN ('deleted', 'failed')`,
		c.TenantID, r.Name).Scan(&instanceID, &state, &last, &jobID, &digest)
	if errors.Is(err, pgx.ErrNoRows) {
		return Result{}, false, nil
	}
	if err != nil {
		return Result{}, false, fmt.Errorf("find name: %w", err)
	}
	same, err := s.cfg.Sealer.sameDigest(place{c.TenantID, "instance", instanceID, "start_digest"}, digest, r.same())
	if err != nil {
		return Result{}, false, err
	}
	if state == InstanceDeprovisioning {
		return Result{}, false, &Error{
			Code: OperationInProgress, Detail: "The instance of this name is being deleted; start again when its job has ended.",
			JobID: last, InstanceID: instanceID, RetryAfter: pollFirst,
		}
	}
	if !same {
		return Result{}, false, &Error{
			Code: NameTaken, Detail: "A live instance of this name was started with another service, plan or parameters.",
			JobID: jobID, InstanceID: instanceID,
		}
	}
	job, err := getJob(ctx, w.tx, c.TenantID, jobID)
	return Result{Job: job, Existing: true}, true, err
}

// insertStart inserts instance, binding, job and questions in one round trip.
func (s *Service) insertStart(ctx context.Context, w *write, c Caller, r StartRequest, p *startPlan) (Job, error) {
	j := &jobRow{tenantID: c.TenantID, driver: p.service.DriverName, failOnAsk: r.FailOnQuestion}
	j.Job = Job{
		ID: newID("job"), Operation: OpProvision, Service: p.service.ID, Plan: p.plan.ID, InstanceID: newID("inst"),
		State: Pending, Progress: Progress{Step: stepQueued, Message: "Queued."}, Leftovers: []Leftover{},
	}
	j.phase, j.epoch = Queued, 1
	if r.Bind {
		j.BindingID = newID("bind")
	}
	batch := &pgx.Batch{}
	if err := s.queueInstance(batch, j, r, p); err != nil {
		return Job{}, err
	}
	w.event(j, c.KeyID, "job.started", map[string]any{"operation": j.Operation, "service": j.Service, "plan": j.Plan})
	questions := p.questionRows(s, j)
	s.decideStart(w, c, j, questions)
	if err := s.queueJob(batch, j, c, r.Labels, p); err != nil {
		return Job{}, err
	}
	for _, q := range questions {
		if err := s.queueQuestion(batch, q); err != nil {
			return Job{}, err
		}
	}
	for _, e := range w.events { // here they cost no round trip of their own
		if err := queueEvent(batch, e); err != nil {
			return Job{}, err
		}
	}
	w.events = nil
	if len(questions) > 0 {
		batch.Queue(jobSelect+`WHERE j.tenant_id = $1 AND j.id = $2`, c.TenantID, j.ID).QueryRow(func(row pgx.Row) (err error) {
			j.Job, err = scanJob(row)
			return err
		})
	}
	if err := w.tx.SendBatch(ctx, batch).Close(); err != nil {
		return Job{}, fmt.Errorf("insert start: %w", err)
	}
	return j.Job, nil
}

// decideStart settles whether the new job runs, asks or fails.
func (s *Service) decideStart(w *write, c Caller, j *jobRow, questions []*questionRow) {
	open := 0
	for _, q := range questions {
		if q.state == QuestionOpen {
			open++
			w.event(j, c.KeyID, "question.asked", map[string]any{"question_id": q.id, "name": q.question.Name})
		}
	}
	switch {
	case open == 0:
		w.ticket(j)
	case j.failOnAsk:
		for _, q := range questions {
			if q.state == QuestionOpen {
				q.state = QuestionWithdrawn
			}
		}
		j.State, j.phase, j.Error, j.Progress = Failed, "", inputRequired(), finalProgress(Failed)
		w.event(j, c.KeyID, "job.failed", map[string]any{"code": j.Error.Code})
	default:
		j.State, j.phase = AwaitingInput, ""
		j.Progress = Progress{Step: "questions", Message: "Waits for answers."}
	}
	w.changed = append(w.changed, j.ID)
}

func inputRequired() *JobError {
	return &JobError{
		Code: string(InputIsRequired), Retryable: false,
		Message: "The job has questions and on_question is \"fail\". Start again with answers to the listed questions. " +
			"Where one is secret or a person's to decide, leave on_question out to have a person asked on a page.",
	}
}

func (s *Service) queueInstance(batch *pgx.Batch, j *jobRow, r StartRequest, p *startPlan) error {
	at := func(column string) place { return place{j.tenantID, "instance", j.InstanceID, column} }
	var digest []byte
	var err error
	if r.Name != "" {
		if digest, err = s.cfg.Sealer.sealDigest(at("start_digest"), r.same()); err != nil {
			return err
		}
	}
	secret, err := s.cfg.Sealer.sealMap(at("secret_parameters"), p.secret)
	if err != nil {
		return err
	}
	public, err := json.Marshal(p.public)
	if err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	labels, err := json.Marshal(labelsOf(r.Labels))
	if err != nil {
		return fmt.Errorf("labels: %w", err)
	}
	state := InstanceProvisioning
	if j.failOnAsk && p.open() > 0 {
		state = InstanceFailed
	}
	batch.Queue(`
		INSERT INTO instance (id, tenant_id, name, service, plan, driver, settings, parameters, secret_parameters,
		                      labels, state, start_digest, job_id, plan_version, protected, expires_at, warn_at)
		VALUES ($1, $2, nullif($3, ''), $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
		        CASE WHEN $16::interval > '0' THEN clock_timestamp() + $16::interval END,
		        CASE WHEN $16::interval > '0' THEN clock_timestamp() + $16::interval - $17::interval END)`,
		j.InstanceID, j.tenantID, r.Name, j.Service, j.Plan, j.driver, orEmpty(p.plan.Settings), public, secret,
		labels, state, digest, j.ID, p.plan.Version, r.Protected, cmp.Or(r.ExpiresIn, p.plan.Expiry.Default), p.plan.Expiry.Warning)
	if j.BindingID != "" {
		batch.Queue(`INSERT INTO binding (id, tenant_id, instance_id, state) VALUES ($1, $2, $3, $4)`,
			j.BindingID, j.tenantID, j.InstanceID, bindingStateAtStart(state))
	}
	return nil
}

func bindingStateAtStart(instance InstanceState) string {
	if instance == InstanceFailed {
		return bindingDeleted
	}
	return bindingPending
}

// orEmpty is settings, or an empty object: a plan needs none.
func orEmpty(settings json.RawMessage) json.RawMessage {
	if len(settings) == 0 {
		return json.RawMessage(`{}`)
	}
	return settings
}

// queueJob inserts the job with its times by the database's clock.
func (s *Service) queueJob(batch *pgx.Batch, j *jobRow, c Caller, labels map[string]string, p *startPlan) error {
	answers, err := s.cfg.Sealer.sealMap(place{j.tenantID, "job", j.ID, "answers"}, p.answers)
	if err != nil {
		return err
	}
	progress, err := json.Marshal(j.Progress)
	if err != nil {
		return fmt.Errorf("progress: %w", err)
	}
	labelText, err := json.Marshal(labelsOf(labels))
	if err != nil {
		return fmt.Errorf("labels: %w", err)
	}
	jobErr, err := marshalMaybe(j.Error)
	if err != nil {
		return fmt.Errorf("error: %w", err)
	}
	work := s.deadlineOf(p.plan)
	deadline, due := work, min(work, s.ticketCheck())
	var workLeft *time.Duration
	if j.State == AwaitingInput {
		deadline, due, workLeft = work+p.expiry(s), p.expiry(s), &work
	}
	batch.Queue(`
		INSERT INTO job (id, tenant_id, instance_id, binding_id, operation, service, plan, driver, state, phase,
		                 due_at, deadline_at, work_left, on_question, answers, progress, error, labels, created_by, by_person, finished_at)
		VALUES ($1, $2, $3, nullif($4, ''), $5, $6, $7, $8, $9, nullif($10, ''),
		        CASE WHEN $9 <> 'failed' THEN clock_timestamp() + $11::interval END, clock_timestamp() + $12::interval, $13,
		        $14, $15, $16, $17, $18, $19, $20, CASE WHEN $9 = 'failed' THEN clock_timestamp() END)
		RETURNING version, created_at, updated_at, deadline_at, clock_timestamp(), `+workerAlive,
		j.ID, j.tenantID, j.InstanceID, j.BindingID, j.Operation, j.Service, j.Plan, j.driver, j.State, j.phase,
		due, deadline, workLeft, onQuestion(j.failOnAsk), answers, progress, jobErr, labelText, c.KeyID, c.isPerson(),
	).QueryRow(func(row pgx.Row) error { // enough for a job without questions: reading it again would cost as much as writing it
		var worker bool
		err := row.Scan(&j.Version, &j.CreatedAt, &j.UpdatedAt, &j.DeadlineAt, &j.Now, &worker)
		j.Phase, j.Questions = j.phase, []Question{}
		j.show("", false, j.driver, false, worker)
		return err
	})
	return nil
}

func (s *Service) deadlineOf(p *catalog.Plan) time.Duration {
	if p != nil && p.Deadline > 0 {
		return p.Deadline
	}
	return s.cfg.JobDeadline
}

func (s *Service) expiryOf(p *catalog.Plan, q provider.Question) time.Duration {
	switch {
	case q.Expiry > 0:
		return q.Expiry
	case p != nil && p.QuestionExpiry > 0:
		return p.QuestionExpiry
	default:
		return s.cfg.QuestionExpiry
	}
}
