package providertest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/provisiond/provisiond/provider"
)

// A Harness describes a driver and its real back end to [Run]. Fields are required unless they say
// otherwise. The functions are called by several goroutines at once.
type Harness struct {
	// Driver is under test, made by its Factory.
	Driver provider.Driver
	// Unreachable is a second driver by the same Factory whose back end does not answer, for example
	// on a closed port.
	Unreachable provider.Driver

	// Settings and Parameters go into every request. They should use all that the driver understands.
	Settings   json.RawMessage
	Parameters map[string]any
	// Answers are given when the driver asks, by question name. Optional for drivers that never ask.
	Answers map[string]map[string]any
	// Odd are parameters that a user might send, by the name of the case: hostile names, limits,
	// things that the back end does not know. Optional.
	Odd map[string]Odd

	// Connect uses the credentials as a client would: it connects and works with the instance.
	Connect func(ctx context.Context, c provider.Credentials) error
	// Objects asks the back end itself, not the driver, for what exists in the name of the instance.
	// Its kinds and names are those of the driver's Find.
	Objects func(ctx context.Context, instanceID string) ([]provider.Object, error)

	// Look asks the back end itself how the instance is: at least all that Update can change, by words of
	// the harness's own. It works at every moment of a life; of what does not exist it says nothing.
	Look func(ctx context.Context, instanceID string) (map[string]string, error)
	// Write stores a text in the instance, and Read gets it, each as a client would. Optional together, for
	// back ends that hold data.
	Write func(ctx context.Context, c provider.Credentials, text string) error
	Read  func(ctx context.Context, c provider.Credentials) (string, error)
	// Session opens a session as a client would, and closes it at the test's end. It returns what fails once
	// the session has ended. Optional, for back ends that have sessions.
	Session func(t *testing.T, c provider.Credentials) (use func(ctx context.Context) error)

	// Updates are changes that the back end can make, by the name of the case. Each is made to a new
	// instance; and all of them to one, in the order of their names, each on top of those before.
	Updates map[string]Update
	// RefusedUpdates are those that it cannot make, or that are wrong.
	RefusedUpdates map[string]RefusedUpdate

	// Broken are the ways in which an instance with two bindings comes to differ from what it should be.
	Broken map[string]Break

	// Foreign plants, under the name that Provision would use, something that is not the instance's;
	// by the name of the case.
	Foreign map[string]Plant
	// ForeignBinding does the same for the name that Bind would use. The instance exists.
	ForeignBinding map[string]Plant

	// Secrets are the secret values in the driver's configuration, Settings, Parameters and Answers.
	// Optional for back ends that have none.
	Secrets []string
	// SecretCredentials are the keys of the credentials whose values are secret.
	SecretCredentials []string
}

// Odd is one case of [Harness.Odd].
type Odd struct {
	// Parameters are set on top of the harness's.
	Parameters map[string]any
	// Want is the code of the error that Provision fails with for good, leaving nothing behind. When
	// it is empty the parameters are odd but right, and the instance works.
	Want provider.ErrorCode
	// Names is the parameter that the error must name.
	Names string
}

// Update is one case of [Harness.Updates].
type Update struct {
	// Settings replace the harness's, where not nil.
	Settings json.RawMessage
	// Parameters are set on top of the instance's.
	Parameters map[string]any
	// Want is what Harness.Look says after the update, as far as it matters. Before, it says otherwise.
	Want map[string]string
}

// RefusedUpdate is one case of [Harness.RefusedUpdates].
type RefusedUpdate struct {
	// Settings replace the harness's, where not nil.
	Settings json.RawMessage
	// Parameters are set on top of the instance's.
	Parameters map[string]any
	// Names is the parameter that the error must name.
	Names string
}

// Break is one case of [Harness.Broken].
type Break struct {
	// Do breaks the instance, as someone at the back end could. The request is that of a Check; its
	// BindingID is the older binding's. What stands in the way of Deprovision then, it removes at the test's
	// end.
	Do func(t *testing.T, r *provider.Request)
	// Want and Object are what Check must find: the kind of the finding, and that of its object.
	Want   provider.FindingKind
	Object string
}

// A Plant puts a foreign object in the way of the request and removes it at the test's end. It returns
// a check that the object is still there and still foreign.
type Plant func(t *testing.T, r *provider.Request) (untouched func(t *testing.T))

// validate ends the test when the harness leaves out what the suite cannot do without.
func (h *Harness) validate(t *testing.T) {
	t.Helper()
	missing := map[string]bool{
		"Driver":            h.Driver == nil,
		"Unreachable":       h.Unreachable == nil,
		"Connect":           h.Connect == nil,
		"Objects":           h.Objects == nil,
		"Look":              h.Look == nil,
		"Read":              h.Write != nil && h.Read == nil,
		"Write":             h.Write == nil && h.Read != nil,
		"Updates":           len(h.Updates) == 0,
		"RefusedUpdates":    len(h.RefusedUpdates) == 0,
		"Broken":            len(h.Broken) == 0,
		"Foreign":           len(h.Foreign) == 0,
		"ForeignBinding":    len(h.ForeignBinding) == 0,
		"SecretCredentials": len(h.SecretCredentials) == 0,
	}
	for field, is := range missing {
		if is {
			t.Errorf("Harness.%s is required", field)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}
