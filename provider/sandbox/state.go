package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/provisiond/provisiond/provider"
)

// state is the checkpoint: what the sandbox has done. All methods share it, since each hands on what
// the last has stored.
type state struct {
	// Step is the number of steps done.
	Step int `json:"step"`
	// StepBegan is when the next step began; zero when it has not.
	StepBegan time.Time `json:"step_began,omitzero"`
	// Failures is how often fail_at_step has struck.
	Failures int `json:"failures,omitempty"`

	// Update is how far the last update is.
	Update updateState `json:"update,omitzero"`
	// Unbind is how far the last Unbind is.
	Unbind unbindState `json:"unbind,omitzero"`

	// RemovalBegan is when the first Deprovision came.
	RemovalBegan time.Time `json:"removal_began,omitzero"`
	// RemovalFailures is how often fail_deprovision has struck.
	RemovalFailures int `json:"removal_failures,omitempty"`
}

// updateState is of the update to one detail. Another one begins anew.
type updateState struct {
	To    string    `json:"to"`
	Began time.Time `json:"began"`
	// Failures is how often fail_update has struck.
	Failures int `json:"failures,omitempty"`
}

// unbindState is of one binding's removal.
type unbindState struct {
	BindingID string `json:"binding_id"`
	// Failures is how often fail_unbind has struck.
	Failures int `json:"failures,omitempty"`
}

func readState(r *provider.Request) (state, error) {
	var s state
	if len(r.State) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(r.State, &s); err != nil {
		return s, fmt.Errorf("read the checkpoint: %w", err)
	}
	return s, nil
}

// save stores the state, and returns the context's error if that is done by then.
func (s *state) save(ctx context.Context, r *provider.Request) error {
	checkpoint, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write the checkpoint: %w", err)
	}
	if err := r.Checkpoint(ctx, checkpoint); err != nil {
		return err
	}
	return ctx.Err()
}
