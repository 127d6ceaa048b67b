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
// no worker waits. Bind makes an object of kind "credential" for each binding, and Unbind removes it.
// Deprovision removes all.
//
// The instance's object records what it was made with: the parameter "size", whatever it is (no secret),
// and a digest of the knobs. Update records what it is changed to; nothing else of the simulated instance
// can change. It obeys the knobs that it changes to, and when nothing changes it is done at once.
//
// Check finds an object that is missing, an instance that does not record what it should (changed), and
// what has a name of the instance's or stands within it without being one of its objects (foreign). An
// instance of before sizes were recorded is never changed. List lists all that the sandbox holds.
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
//	update_duration       how long an update takes; default: 0
//	fail_update           how an update fails once its time is over; see below; default: it does not
//	fail_unbind           how many calls of Unbind fail retryably, for each binding, or "always"; default: 0
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
// fail_update is a failure that may also have unusable and not_repeatable, which go with a failure for
// good. It strikes before the change, and so leaves the instance as it was; but when it is unusable the
// object records that it is broken, which a Check then finds, until an update succeeds. Calls that fail
// are counted until an update to something else begins: with times of 1, the same update made again
// succeeds.
//
// Parameters without a knob of their name are ignored: they are the catalog's own.
package sandbox
