package provider

import (
	"fmt"
	"time"
)

// An ErrorCode is a stable word for the kind of a failure. It is an error itself, so that
// errors.Is(err, provider.ErrNotMine) works on an [*Error].
type ErrorCode string

// The codes that have a meaning for the core. A driver may use its own words beside them.
const (
	// ErrNotMine: what is there under the name does not belong to the instance. Nothing is cleaned up.
	ErrNotMine ErrorCode = "not_mine"
	// ErrNeedsOperator: it cannot be told whether the work was done. Nothing is cleaned up.
	ErrNeedsOperator ErrorCode = "needs_operator"
	// ErrUnavailable: the back end cannot be reached or refuses for now.
	ErrUnavailable ErrorCode = "provider_unavailable"
	// ErrConflict: the back end is busy with another operation on the same thing.
	ErrConflict ErrorCode = "provider_conflict"
	// ErrRejected: the back end refuses the request for good.
	ErrRejected ErrorCode = "provider_rejected"
)

// Error implements error.
func (c ErrorCode) Error() string { return string(c) }

// Error is a failure of a driver.
type Error struct {
	Code ErrorCode
	// Message is a sentence for the user: what failed and what to do. No secrets, and no text of the
	// back end that could hold one.
	Message string
	// Retryable failures are tried again with back-off until the job's deadline.
	Retryable bool
	// Unusable tells of an Update that failed for good that the instance does not work any more.
	Unusable bool
	// NotRepeatable tells of an Update that failed for good that the same one must not be tried again.
	NotRepeatable bool
	// Cause is for the operator's log only, where it is scrubbed of the request's secrets.
	Cause error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap gives the cause and the code to errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	if e.Cause != nil {
		return []error{e.Code, e.Cause}
	}
	return []error{e.Code}
}

// InputRequired asks the user. The job waits in awaiting_input, and no worker is held.
type InputRequired struct {
	Questions []Question
}

// Error implements error.
func (e *InputRequired) Error() string {
	return fmt.Sprintf("input required: %d questions", len(e.Questions))
}

// Pending says that the back end works on it and when to call again.
type Pending struct {
	After   time.Duration
	Message string
}

// Error implements error.
func (e *Pending) Error() string { return fmt.Sprintf("pending for %s: %s", e.After, e.Message) }
