package jobs

import (
	"errors"
	"fmt"
	"time"

	"github.com/provisiond/provisiond/jobs/catalog"
)

// A Code is a stable word for the kind of an error. It is an error itself, so that
// errors.Is(err, jobs.NotFound) works on an [*Error].
type Code string

// The codes. openapi.yaml lists them with their HTTP status.
const (
	InvalidRequest          Code = "invalid_request"
	InvalidCursor           Code = "invalid_cursor"
	Unauthenticated         Code = "unauthenticated"
	InsufficientScope       Code = "insufficient_scope"
	PersonRequired          Code = "person_required"
	NotFound                Code = "not_found"
	OperationInProgress     Code = "operation_in_progress"
	NameTaken               Code = "name_taken"
	IdempotencyInProgress   Code = "idempotency_in_progress"
	IdempotencyKeyReused    Code = "idempotency_key_reused"
	QuestionAlreadyAnswered Code = "question_already_answered"
	QuestionHasExpired      Code = "question_expired"
	QuestionWasWithdrawn    Code = "question_withdrawn"
	QuoteChanged            Code = "quote_changed"
	JobFinished             Code = "job_finished"
	NotReady                Code = "not_ready"
	BindingDeleted          Code = "binding_deleted"
	BindingRotated          Code = "binding_rotated"
	InstanceNotActive       Code = "instance_not_active"
	DeletionProtected       Code = "deletion_protected"
	PlanChangeNotAllowed    Code = "plan_change_not_allowed"
	PlanRemoved             Code = "plan_removed"
	UpdateNotRepeatable     Code = "update_not_repeatable"
	PreconditionFailed      Code = "precondition_failed"
	InputIsRequired         Code = "input_required"
	UnknownService          Code = "unknown_service"
	UnknownPlan             Code = "unknown_plan"
	Unavailable             Code = "unavailable"
	Draining                Code = "draining"
)

// Error implements error.
func (c Code) Error() string { return string(c) }

// Error is a refusal that the caller can act on. Detail and Fields name the field and the rule,
// never a submitted value.
type Error struct {
	Code   Code
	Detail string
	Fields []catalog.FieldError
	// JobID, InstanceID and BindingID are what stands in the way, where that is the tenant's own.
	JobID      string
	InstanceID string
	BindingID  string
	// QuestionID is set with PersonRequired: the question that a person must answer.
	QuestionID string
	// RetryAfter is set where the same request may work later.
	RetryAfter time.Duration
	// Cause is for the log.
	Cause error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Detail, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Detail)
}

// Unwrap gives the code and the cause to errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	if e.Cause != nil {
		return []error{e.Code, e.Cause}
	}
	return []error{e.Code}
}

// errLostLease means that another worker holds the job, or that it has ended: the worker that gets
// it writes nothing more.
var errLostLease = errors.New("the lease on the job is lost")
