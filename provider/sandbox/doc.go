// Package sandbox is a simulator. It provisions nothing: its "external" objects are rows of the table
// sandbox_object, its credentials open nothing, and both its endpoint and its credentials say so with
// "simulated": "true". It is for developers of clients, for load tests and for provisiond's own tests,
// which can count what it made.
//
// It behaves as a real back end does. Each object is made by a call of its own that is not part of any
// transaction, has a name derived from the ID, and is looked for before it is made.
//
// # An instance's life
//
// Provision goes through steps, which take their time; the first begins with making the object of kind
// "instance". A step that takes over a second more is left to the back end (a Pending return), so that
// no worker waits. Bind makes an object of kind "credential". Deprovision removes them.
//
// # Knobs
//
// The plan's settings:
//
//	duration              how long all steps take together, such as "90s"; default: 0
//	steps                 number of steps, 1 to 20; default: 1
//	questions             what to ask; see below
//	fail_at_step          the step that fails once its time is over; default: none
//	failure               how it fails; see below
//	lose_answer           true: the instance is made, and the call that made it fails retryably
//	fail_deprovision      how many calls of Deprovision fail retryably, or "always"; default: 0
//	deprovision_duration  how long the removal takes; default: 0
//	overridable           true: a user's parameter of a knob's name replaces the knob
//
// A question has name, message, schema (all required), secret, person_only, default, expiry (a
// duration), and after_step: it is asked when that many steps are done; default: 0, before anything is
// made. Questions of the same step are asked together.
//
// A failure has code (default "provider_unavailable"), message, retryable, and times: how many calls
// fail, or "always" (default).
//
// Parameters without a knob of their name are ignored: they are the catalog's own.
package sandbox
