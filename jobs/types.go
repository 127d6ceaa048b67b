package jobs

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/provider"
)

// Operation is what a job does.
type Operation string

// The operations.
const (
	OpProvision   Operation = "provision"
	OpUpdate      Operation = "update"
	OpDeprovision Operation = "deprovision"
	OpBind        Operation = "bind"
	OpRotate      Operation = "rotate"
	OpUnbind      Operation = "unbind"
	OpCheck       Operation = "check"
)

// onBinding reports whether the operation is about one binding alone.
func (o Operation) onBinding() bool { return o == OpBind || o == OpRotate || o == OpUnbind }

// removes reports whether the operation removes something.
func (o Operation) removes() bool { return o == OpDeprovision || o == OpUnbind }

// InstanceState is where an instance is in its life.
type InstanceState string

// The states of an instance. Deleted is final; Failed can only be deleted.
const (
	InstanceProvisioning   InstanceState = "provisioning"
	InstanceActive         InstanceState = "active"
	InstanceDeprovisioning InstanceState = "deprovisioning"
	InstanceDeleted        InstanceState = "deleted"
	InstanceFailed         InstanceState = "failed"
)

// QuestionState is where a question is in its life. All but QuestionOpen are final.
type QuestionState string

// The states of a question.
const (
	QuestionOpen      QuestionState = "open"
	QuestionAnswered  QuestionState = "answered"
	QuestionExpired   QuestionState = "expired"
	QuestionWithdrawn QuestionState = "withdrawn"
)

// Answerer says who may answer a question.
type Answerer string

// The answerers. AnswererPerson refuses a key of kind agent or service.
const (
	AnswererAny    Answerer = "any"
	AnswererPerson Answerer = "person"
)

// KeyKind is who holds an API key.
type KeyKind string

// The kinds of key.
const (
	KindAgent   KeyKind = "agent"
	KindPerson  KeyKind = "person"
	KindService KeyKind = "service"
	KindAdmin   KeyKind = "admin"
)

// The scopes of a key.
const (
	ScopeServicesRead    = "services:read"
	ScopeInstancesRead   = "instances:read"
	ScopeInstancesWrite  = "instances:write"
	ScopeJobsRead        = "jobs:read"
	ScopeQuestionsAnswer = "questions:answer"
	ScopeCredentialsRead = "credentials:read"
)

// AllScopes lists every scope.
func AllScopes() []string {
	return []string{
		ScopeServicesRead, ScopeInstancesRead, ScopeInstancesWrite,
		ScopeJobsRead, ScopeQuestionsAnswer, ScopeCredentialsRead,
	}
}

// Caller is who asks: the tenant and the key that a request was made with.
type Caller struct {
	TenantID string
	KeyID    string
	Kind     KeyKind
	Scopes   []string
}

// Can reports whether the caller's key has the scope.
func (c Caller) Can(scope string) bool { return slices.Contains(c.Scopes, scope) }

// isPerson reports whether the caller may answer what only a person may.
func (c Caller) isPerson() bool { return c.Kind == KindPerson || c.Kind == KindAdmin }

// Job is one asynchronous operation on an instance, as its tenant sees it. It holds no secret.
type Job struct {
	ID         string     `json:"id"`
	Operation  Operation  `json:"operation"`
	State      State      `json:"state"`
	Phase      Phase      `json:"phase,omitempty"`
	Progress   Progress   `json:"progress"`
	Service    string     `json:"service"`
	Plan       string     `json:"plan"`
	InstanceID string     `json:"instance_id"`
	BindingID  string     `json:"binding_id,omitempty"`
	Questions  []Question `json:"questions"`
	Error      *JobError  `json:"error,omitempty"`
	Leftovers  []Leftover `json:"leftovers"`
	// Version grows with every change.
	Version    int64      `json:"version"`
	CreatedAt  time.Time  `json:"created_at"`
	UpdatedAt  time.Time  `json:"updated_at"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	DeadlineAt time.Time  `json:"deadline_at"`
	// Now is the database's clock when the job was read.
	Now time.Time `json:"now"`
}

// Progress is what a job does just now. Percent is nil where it is not known.
type Progress struct {
	Percent *int   `json:"percent,omitempty"`
	Step    string `json:"step"`
	Message string `json:"message"`
}

// JobError is why a job failed, for its user.
type JobError struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}

// Leftover is a thing outside that a job could not remove.
type Leftover struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Question is a question of a job to its user. It holds no answer.
type Question struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Message      string          `json:"message"`
	Schema       json.RawMessage `json:"schema"`
	Secret       bool            `json:"secret"`
	AnswerableBy Answerer        `json:"answerable_by"`
	// Default is taken at expiry; nil means that the job fails then.
	Default   map[string]any `json:"default,omitempty"`
	Price     *catalog.Price `json:"price,omitempty"`
	State     QuestionState  `json:"state"`
	AskedAt   time.Time      `json:"asked_at"`
	ExpiresAt time.Time      `json:"expires_at"`
}

// Instance is a provisioned service instance, as its tenant sees it. It holds no secret.
type Instance struct {
	ID         string
	Name       string
	Service    string
	Plan       string
	State      InstanceState
	Parameters map[string]any
	Labels     map[string]string
	Endpoint   provider.Endpoint
	// JobID is the last job on the instance.
	JobID string
	// PlanVersion is the version of the plan in the catalog that the instance has; see [catalog.Plan].
	PlanVersion string
	// ExpiresAt is when the instance is deprovisioned; nil is never.
	ExpiresAt *time.Time
	// Protected refuses every deletion.
	Protected bool
	// Usable is false after an update that left the instance broken.
	Usable bool
	// UpdateRepeatable is false after a failed update that must not be tried again as it was.
	UpdateRepeatable bool
	// CheckedAt is when the last check came to its end, with Findings; nil before the first.
	CheckedAt *time.Time
	Findings  []Finding
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Finding is a difference between an instance as it should be and what exists.
type Finding struct {
	Kind       provider.FindingKind `json:"kind"`
	ObjectKind string               `json:"object_kind"`
	ObjectName string               `json:"object_name"`
	Detail     string               `json:"detail"`
}

// Binding is one set of credentials for an instance, without them.
type Binding struct {
	ID         string
	InstanceID string
	Name       string
	State      BindingState
	// JobID is the last job on the binding.
	JobID string
	// ExpiresAt is when the credentials are removed; nil is with the instance.
	ExpiresAt *time.Time
	// RenewBefore is when to rotate at the latest, so that clients have time to take the new credentials.
	RenewBefore *time.Time
	// PredecessorID is the binding that this one was rotated from.
	PredecessorID string
	CreatedAt     time.Time
}

// BindingState is where a binding is in its life.
type BindingState string

// The states of a binding. The credentials of one that is deleting or deleted are handed out no more.
const (
	BindingPending  BindingState = "pending"
	BindingActive   BindingState = "active"
	BindingDeleting BindingState = "deleting"
	BindingGone     BindingState = "deleted"
)

// Credentials are the secret half of a binding.
type Credentials struct {
	BindingID  string
	InstanceID string
	Values     provider.Credentials
}

// Event is one line of the history of a job or of the audit log.
type Event struct {
	ID         string
	Type       string
	JobID      string
	InstanceID string
	// Actor is a key's ID, "worker", "sweeper" or "operator".
	Actor string
	At    time.Time
	Data  map[string]any
}

// Page is one page of a list. NextCursor is empty on the last.
type Page[T any] struct {
	Items      []T
	NextCursor string
}

// PageRequest asks for a page. Limit is coerced to 1..200, 0 means 50.
type PageRequest struct {
	Limit  int
	Cursor string
}
