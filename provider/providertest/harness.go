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
