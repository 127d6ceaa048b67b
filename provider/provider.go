// Package provider is the contract between provisiond's workers and the code that talks to one kind
// of back end (a driver).
//
// The contract in one paragraph: every call may be repeated. A worker can die at any point, and
// another then makes the same call with the same [Request] and the last checkpoint. So a driver
// derives the outside name from the instance's ID, calls [Request.Checkpoint] right before each
// outside call that makes something, and finds before it creates. "Already there and mine" is
// success; "already there and not mine" is [ErrNotMine], and nothing is deleted; "cannot tell" is
// [ErrNeedsOperator].
//
// The package providertest holds the tests that every driver passes.
package provider

import (
	"context"
	"encoding/json"
	"time"
)

// A Driver provisions instances on one back end. Its methods are safe for concurrent use. They obey
// their context at once: when it is done the job was canceled or belongs to another worker, and no
// outside call may start.
//
// A method returns one of
//   - nil: the work is done;
//   - [*InputRequired]: it must know more; it is called again with the answers in Request.Answers;
//   - [*Pending]: the back end works on it; it is called again after the delay, and no worker waits;
//   - [*Error]: it failed, for a time (Retryable) or for good;
//   - the context's error;
//   - any other error, which counts as a retryable *Error with code "provider_error" whose text is
//     kept from users.
type Driver interface {
	// Provision makes the instance and returns where it is reached.
	Provision(ctx context.Context, r *Request) (Endpoint, error)
	// Bind makes credentials for the instance, or makes them anew when an earlier call for the same
	// r.BindingID did not get to return them. It returns them only after they were used to connect.
	// Without the instance it is ErrRejected.
	Bind(ctx context.Context, r *Request) (Credentials, error)
	// Deprovision removes the instance with all its bindings, or what there is of it after a
	// Provision that was cut off. Nothing there is success. It works with parameters that Provision
	// has refused.
	Deprovision(ctx context.Context, r *Request) error
	// Find lists what exists outside for the instance, and nothing that is not the instance's.
	Find(ctx context.Context, r *Request) ([]Object, error)
	// Update brings the instance from r.Previous to r.Settings and r.Parameters, and returns where it is
	// reached then. Its bindings go on. A repeated call finds what an earlier one has changed already. What
	// the back end cannot change is ErrRejected, with nothing changed. Without the instance it is
	// ErrRejected, Unusable and NotRepeatable.
	Update(ctx context.Context, r *Request) (Endpoint, error)
	// Unbind removes the credentials of r.BindingID and ends what still uses them. Other bindings, and all
	// that was made with these credentials, stay. Nothing there is success, also where the instance is gone;
	// a foreign object of the name is ErrNotMine.
	Unbind(ctx context.Context, r *Request) error
	// Check compares what exists with what should: the instance by r.Settings and r.Parameters, and each of
	// r.Bindings; another binding of the instance's is Foreign. It changes nothing. No finding means that all
	// is as it should be.
	Check(ctx context.Context, r *Request) ([]Finding, error)
}

// A Factory makes the driver of one catalog service from the service's configuration. It checks the
// configuration, reports all that is wrong at once, and makes no connection. Unknown fields are an
// error.
type Factory func(config json.RawMessage) (Driver, error)

// PlanChecker is implemented by drivers that can check a plan's settings when the catalog is loaded.
type PlanChecker interface {
	// CheckPlan reports all that is wrong with the settings at once.
	CheckPlan(settings json.RawMessage) error
}

// Namer is implemented by drivers whose names are derived from the IDs.
type Namer interface {
	// Names lists what Provision, and Bind where r.BindingID is set, would make. It makes no outside call.
	Names(r *Request) []Object
}

// Lister is implemented by drivers whose back end can list all that carries provisiond's marker.
type Lister interface {
	// List lists it, whichever instance it is of.
	List(ctx context.Context) ([]Owned, error)
}

// A Request tells a driver what to work on. A repeated call gets the same.
type Request struct {
	// InstanceID is "inst_" and 26 lower-case letters and digits; unique for ever.
	InstanceID string
	// BindingID is "bind_" and 26 lower-case letters and digits; set for Bind and Unbind. A Provision with a
	// binding to follow has it too, and so has the clean-up of one; they leave it alone.
	BindingID string
	// Settings are the plan's settings for the driver, as they were in the catalog at the start call.
	Settings json.RawMessage
	// Parameters are the user's, checked against the plan's schema, with its defaults filled in.
	// They may hold secrets.
	Parameters map[string]any
	// Previous is what the instance was before an Update that is not done yet; nil for the other methods.
	Previous *Configuration
	// Bindings are the IDs of the bindings that should exist, oldest first; set for Check only.
	Bindings []string
	// Answers are the content of the accepted answers to this driver's questions, by question name.
	// They may hold secrets.
	Answers map[string]map[string]any
	// State is the last checkpoint, nil before the first. It is stored encrypted.
	State []byte
	// Checkpoint stores State for the next call, before it returns. Its error means that the job was canceled, or
	// that this worker no longer holds it: return it and make no outside call. The state of a canceled job is
	// stored all the same, also where the context is done, so that the clean-up knows what was made.
	Checkpoint func(ctx context.Context, state []byte) error
	// Report shows progress to the user. No secrets in it. Its error means what Checkpoint's means.
	Report func(ctx context.Context, p Progress) error
}

// Configuration is what an instance was made with.
type Configuration struct {
	Settings   json.RawMessage
	Parameters map[string]any
}

// Endpoint says where an instance is reached, such as "host" and "port". Everyone in the tenant may
// see it: no secrets.
type Endpoint map[string]string

// Credentials are what a client needs to connect, such as "uri", "username" and "password". They are
// stored encrypted.
type Credentials map[string]string

// Progress is what a user sees while a job runs.
type Progress struct {
	// Percent is 0 to 100, or -1 where it is not known.
	Percent int
	// Step is one word for programs, such as "create_database".
	Step string
	// Message is a sentence for people.
	Message string
}

// An Object is a thing outside that belongs to an instance.
type Object struct {
	// Kind is the back end's word for it, such as "database".
	Kind string
	// Name is its name there.
	Name string
}

// Owned is an object with the ID in its marker.
type Owned struct {
	Object
	// InstanceID is the instance's whose marker it carries.
	InstanceID string
}

// FindingKind says what is wrong with an object.
type FindingKind string

// The kinds of findings.
const (
	// Missing: it should exist and does not.
	Missing FindingKind = "missing"
	// Changed: it exists and is not as it was made.
	Changed FindingKind = "changed"
	// Foreign: it has the name, or stands within the instance, and is not the instance's.
	Foreign FindingKind = "foreign"
)

// A Finding is one difference between what exists and what should.
type Finding struct {
	Kind   FindingKind
	Object Object
	// Detail is a sentence for people. No secrets in it.
	Detail string
}

// Question is what a driver wants to know. Its Name is unique within the job; the same name again
// in a later call means the same question.
type Question struct {
	Name    string
	Message string
	// Schema is a flat JSON Schema object, in the subset that MCP form elicitation allows: properties
	// of type string (format, enum, lengths), number, integer, boolean, or choice.
	Schema json.RawMessage
	// Secret answers are stored encrypted and are never asked in an MCP form.
	Secret bool
	// PersonOnly refuses an agent's answer.
	PersonOnly bool
	// Default, where not nil, is taken as the answer when the question expires. Without it the job
	// fails then.
	Default map[string]any
	// Expiry is how long the question stays open; 0 is the server's default.
	Expiry time.Duration
}
