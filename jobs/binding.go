package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/provider"
)

// The overlap of a rotation.
const (
	DefaultOverlap = time.Hour
	MaxOverlap     = 30 * 24 * time.Hour
)

// renewAfter is the part of a binding's life after which it should be rotated, four fifths.
func renewAfter(life time.Duration) time.Duration { return life / 5 * 4 }

// BindRequest asks for a set of credentials.
type BindRequest struct {
	InstanceID string
	Name       string // "" = none; unique among the instance's live bindings
	// ExpiresIn is how long the credentials live; 0 is as long as the instance.
	ExpiresIn      time.Duration
	IdempotencyKey string // "" = none
}

// Bind starts to make another set of credentials for an active instance. With the name of an equal binding
// that exists or is being made, the result is the job that makes it or has made it.
//
// Errors: NotFound, OperationInProgress, InstanceNotActive, PlanRemoved, NameTaken by a binding that lives for
// another time or whose job is gone, IdempotencyKeyReused, IdempotencyInProgress.
func (s *Service) Bind(ctx context.Context, c Caller, r BindRequest) (Result, error) {
	same := r
	same.IdempotencyKey = ""
	return again(func() (Result, error) {
		return s.idempotent(ctx, c, r.IdempotencyKey, "bind", same, func(w *write) (Result, error) {
			live, in, err := s.lockInstance(ctx, w.tx, c.TenantID, r.InstanceID)
			if err != nil {
				return Result{}, err
			}
			if existing, found, err := sameBinding(ctx, w, in, r); found || err != nil {
				return existing, err
			}
			if err := s.mayBegin(in, live); err != nil {
				return Result{}, err
			}
			j := newOperation(in, OpBind)
			b := bindingRow{name: r.Name, expiresIn: r.ExpiresIn}
			return s.beginBind(ctx, w, c, in, j, b)
		})
	})
}

// mayBegin refuses what needs a driver on an instance that is not free, or whose service is gone. A removed
// plan is no reason: its instances live on.
func (s *Service) mayBegin(in *instanceRow, live *jobRow) error {
	if err := in.isFree(live); err != nil {
		return err
	}
	if service, ok := s.Catalog().Service(in.service); !ok || service.DriverName != in.driver {
		return &Error{
			Code: PlanRemoved, InstanceID: in.id,
			Detail: "The instance's service is no longer in the catalog, or has another driver; the instance can be read, and deleted once the service is back.",
		}
	}
	return nil
}

// sameBinding finds the job of the instance's live binding of the name, if there is one. Error: NameTaken.
func sameBinding(ctx context.Context, w *write, in *instanceRow, r BindRequest) (Result, bool, error) {
	if r.Name == "" {
		return Result{}, false, nil
	}
	var id, jobID string
	var expiresIn time.Duration
	err := w.tx.QueryRow(ctx, `
		SELECT id, coalesce(job_id, ''), coalesce(expires_at - created_at, '0') FROM binding
		WHERE instance_id = $1 AND name = $2 AND state <> 'deleted'`, in.id, r.Name).Scan(&id, &jobID, &expiresIn)
	if errors.Is(err, pgx.ErrNoRows) {
		return Result{}, false, nil
	}
	if err != nil {
		return Result{}, false, fmt.Errorf("find name: %w", err)
	}
	taken := &Error{Code: NameTaken, InstanceID: in.id, BindingID: id, JobID: jobID}
	if expiresIn != r.ExpiresIn {
		taken.Detail = "The instance has a binding of this name, made with another expires_in; choose another name, or remove or rotate that binding."
		return Result{}, true, taken
	}
	job, err := getJob(ctx, w.tx, in.tenantID, jobID)
	if errors.Is(err, NotFound) {
		taken.JobID, taken.Detail = "", "The instance has a binding of this name, made long ago."
		return Result{}, true, taken
	}
	return Result{Job: job, Existing: true}, true, err
}

// bindingRow is a binding that is to be made, or one that is locked.
type bindingRow struct {
	id, instanceID, name, jobID string
	predecessorID               string
	state                       BindingState
	expiresIn                   time.Duration
	overlap                     *time.Duration
}

// beginBind inserts a binding and the job that makes it. The times are of one moment, so that they tell how long
// it was to live.
func (s *Service) beginBind(ctx context.Context, w *write, c Caller, in *instanceRow, j *jobRow, b bindingRow) (Result, error) {
	j.BindingID = newID("bind")
	_, err := w.tx.Exec(ctx, `
		INSERT INTO binding (id, tenant_id, instance_id, state, name, job_id, predecessor_id, overlap, created_at, expires_at, renew_before)
		SELECT $1, $2, $3, 'pending', nullif($4, ''), $5, nullif($6, ''), $7::interval, now,
		       CASE WHEN $8::interval > '0' THEN now + $8::interval END,
		       CASE WHEN $8::interval > '0' THEN now + $9::interval END
		FROM (SELECT clock_timestamp() AS now) AS clock`,
		j.BindingID, in.tenantID, in.id, b.name, j.ID, b.predecessorID, b.overlap, b.expiresIn, renewAfter(b.expiresIn))
	if err != nil {
		return Result{}, fmt.Errorf("insert binding: %w", err)
	}
	return s.begin(ctx, w, c, in, j)
}

// RotateRequest asks for new credentials in the place of a binding's.
type RotateRequest struct {
	BindingID string
	// Overlap is how long the old credentials work on once the new ones are there; nil is DefaultOverlap.
	Overlap *time.Duration
	// ExpiresIn is how long the new credentials live; 0 is as long as the instance.
	ExpiresIn      time.Duration
	IdempotencyKey string // "" = none
}

// Rotate starts to make a binding that takes the place, and the name, of another, which is removed after
// the overlap. While it is being made, the result of another call is its job.
//
// Errors: NotFound, BindingDeleted, BindingRotated, NotReady while the binding itself is being made,
// OperationInProgress, InstanceNotActive, PlanRemoved, IdempotencyKeyReused, IdempotencyInProgress.
func (s *Service) Rotate(ctx context.Context, c Caller, r RotateRequest) (Result, error) {
	same := r
	same.IdempotencyKey = ""
	return again(func() (Result, error) {
		return s.idempotent(ctx, c, r.IdempotencyKey, "rotate", same, func(w *write) (Result, error) {
			return s.rotate(ctx, w, c, r)
		})
	})
}

func (s *Service) rotate(ctx context.Context, w *write, c Caller, r RotateRequest) (Result, error) {
	live, in, b, err := s.lockBinding(ctx, w, c.TenantID, r.BindingID)
	if err != nil {
		return Result{}, err
	}
	switch b.state {
	case BindingDeleting, BindingGone:
		return Result{}, &Error{Code: BindingDeleted, InstanceID: in.id, Detail: "The binding is deleted; make a new one."}
	case BindingPending:
		return Result{}, &Error{Code: NotReady, InstanceID: in.id, JobID: b.jobID, Detail: "The binding is not made yet; wait for its job."}
	case BindingActive:
	}
	if existing, found, err := s.successor(ctx, w, in, live, b); found || err != nil {
		return existing, err
	}
	if err := s.mayBegin(in, live); err != nil {
		return Result{}, err
	}
	overlap := DefaultOverlap
	if r.Overlap != nil {
		overlap = *r.Overlap
	}
	j := newOperation(in, OpRotate)
	return s.beginBind(ctx, w, c, in, j, bindingRow{predecessorID: b.id, overlap: &overlap, expiresIn: r.ExpiresIn})
}

// successor finds what a binding was or is being rotated to.
func (s *Service) successor(ctx context.Context, w *write, in *instanceRow, live *jobRow, b *bindingRow) (Result, bool, error) {
	var id, jobID string
	err := w.tx.QueryRow(ctx, `
		SELECT id, coalesce(job_id, '') FROM binding WHERE instance_id = $1 AND predecessor_id = $2 AND state <> 'deleted'`, in.id, b.id).
		Scan(&id, &jobID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Result{}, false, nil
	case err != nil:
		return Result{}, false, fmt.Errorf("find successor: %w", err)
	case live != nil && live.BindingID == id && live.Operation == OpRotate:
		job, err := getJob(ctx, w.tx, in.tenantID, live.ID)
		return Result{Job: job, Existing: true}, true, err
	}
	return Result{}, true, &Error{
		Code: BindingRotated, InstanceID: in.id, JobID: jobID, Detail: "The binding was rotated before; rotate " + id + ", which took its place.",
	}
}

// lockBinding locks a binding's instance, its live job, and then the binding. Error: NotFound.
func (s *Service) lockBinding(ctx context.Context, w *write, tenantID, bindingID string) (*jobRow, *instanceRow, *bindingRow, error) {
	b := &bindingRow{id: bindingID}
	err := w.tx.QueryRow(ctx, `SELECT instance_id FROM binding WHERE tenant_id = $1 AND id = $2`, tenantID, bindingID).Scan(&b.instanceID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, nil, bindingNotFound()
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("find binding: %w", err)
	}
	live, in, err := s.lockInstance(ctx, w.tx, tenantID, b.instanceID)
	if err != nil {
		return nil, nil, nil, err
	}
	err = w.tx.QueryRow(ctx, `
		SELECT coalesce(name, ''), `+bindingShownState+`, coalesce(job_id, '') FROM binding WHERE id = $1`, bindingID).
		Scan(&b.name, &b.state, &b.jobID)
	return live, in, b, wrap("read binding", err)
}

// Unbind starts to remove a binding's credentials, which are handed out no more from now on. Of one that
// is deleted or being deleted, the result is the job that did or does it.
//
// Errors: NotFound, NotReady while the binding is being made, OperationInProgress, InstanceNotActive,
// IdempotencyKeyReused, IdempotencyInProgress.
func (s *Service) Unbind(ctx context.Context, c Caller, bindingID, idempotencyKey string) (Result, error) {
	return again(func() (Result, error) {
		return s.idempotent(ctx, c, idempotencyKey, "unbind", bindingID, func(w *write) (Result, error) {
			return s.unbind(ctx, w, c, bindingID)
		})
	})
}

func (s *Service) unbind(ctx context.Context, w *write, c Caller, bindingID string) (Result, error) {
	live, in, b, err := s.lockBinding(ctx, w, c.TenantID, bindingID)
	if err != nil {
		return Result{}, err
	}
	switch {
	case b.state == BindingGone, live != nil && live.Operation == OpUnbind && live.BindingID == b.id:
		job, err := getJob(ctx, w.tx, c.TenantID, b.jobOr(in))
		return Result{Job: job, Existing: true}, err
	case b.state == BindingPending:
		return Result{}, &Error{Code: NotReady, InstanceID: in.id, JobID: b.jobID, Detail: "The binding is not made yet; cancel its job."}
	}
	if err := in.isFree(live); err != nil {
		return Result{}, err
	}
	j := newOperation(in, OpUnbind)
	j.BindingID = b.id
	_, err = w.tx.Exec(ctx, `
		UPDATE binding SET state = 'deleted', removing = true, credentials = NULL, job_id = $2, updated_at = clock_timestamp()
		WHERE id = $1`, b.id, j.ID)
	if err != nil {
		return Result{}, fmt.Errorf("unbind: %w", err)
	}
	return s.begin(ctx, w, c, in, j)
}

// jobOr is the last job on the binding, or the instance's where it went with that.
func (b *bindingRow) jobOr(in *instanceRow) string {
	if b.jobID != "" {
		return b.jobID
	}
	return in.jobID
}

// saveCredentials makes a binding active. A rotation hands over the name of the predecessor, whose
// overlap begins.
func (s *Service) saveCredentials(ctx context.Context, w *write, j *jobRow, credentials provider.Credentials) error {
	sealed, err := s.cfg.Sealer.seal(place{j.tenantID, "binding", j.BindingID, "credentials"}, credentials)
	if err != nil {
		return err
	}
	_, err = w.tx.Exec(ctx, `
		UPDATE binding SET state = 'active', credentials = $2, updated_at = clock_timestamp() WHERE id = $1`, j.BindingID, sealed)
	if err != nil || j.Operation != OpRotate {
		return wrap("save credentials", err)
	}
	return s.replacePredecessor(ctx, w, j.BindingID)
}

// replacePredecessor gives a binding the name of its predecessor, whose overlap begins.
func (s *Service) replacePredecessor(ctx context.Context, w *write, bindingID string) error {
	var predecessor string
	var name *string
	var overlap time.Duration
	err := w.tx.QueryRow(ctx, `
		SELECT old.id, old.name, new.overlap FROM binding new JOIN binding old ON old.id = new.predecessor_id
		WHERE new.id = $1 AND old.state = 'active' FOR UPDATE`, bindingID).Scan(&predecessor, &name, &overlap)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // it expired in the meantime
	}
	if err != nil {
		return fmt.Errorf("find predecessor: %w", err)
	}
	batch := &pgx.Batch{}
	batch.Queue(`
		UPDATE binding SET name = NULL, expires_at = least(expires_at, clock_timestamp() + $2::interval), updated_at = clock_timestamp()
		WHERE id = $1`, predecessor, overlap)
	batch.Queue(`UPDATE binding SET name = $2 WHERE id = $1`, bindingID, name)
	return wrap("rotate", w.tx.SendBatch(ctx, batch).Close())
}

// finishBinding moves the job's binding, where it has one, where the end of the job leads it. One that
// was perhaps made and not removed again is still to be removed.
func finishBinding(ctx context.Context, w *write, j *jobRow, neverRan bool) error {
	var err error
	switch {
	case j.BindingID == "":
	case j.Operation == OpUnbind && j.State == Succeeded:
		_, err = w.tx.Exec(ctx, `UPDATE binding SET removing = false, updated_at = clock_timestamp() WHERE id = $1`, j.BindingID)
	case j.Operation != OpUnbind && j.State != Succeeded:
		_, err = w.tx.Exec(ctx, `
			UPDATE binding SET state = 'deleted', removing = $2, credentials = NULL, updated_at = clock_timestamp()
			WHERE id = $1`, j.BindingID, !neverRan && (len(j.Leftovers) > 0 || j.hasSuccessor))
	}
	return wrap("finish binding", err)
}
