package jobs

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// State is the state of a job. It maps one to one onto the states of an MCP task.
type State string

// The states of a job.
const (
	Pending       State = "pending"
	AwaitingInput State = "awaiting_input"
	Succeeded     State = "succeeded"
	Failed        State = "failed"
	Canceled      State = "canceled"
)

// Final reports whether a job in this state never changes again.
func (s State) Final() bool { return s == Succeeded || s == Failed || s == Canceled }

// Phase tells more of a pending job.
type Phase string

// The phases of a pending job. The database knows the first three; a job that is cleaning up for its
// decided end shows as one of the others.
const (
	Queued            Phase = "queued"
	Running           Phase = "running"
	WaitingOnProvider Phase = "waiting_on_provider"
	CleaningUp        Phase = "cleaning_up"
	Canceling         Phase = "canceling"
)

// status is what the state machine is about: a job's state and, while it is pending, its phase.
type status struct {
	state State
	phase Phase
}

var (
	queued   = status{Pending, Queued}
	running  = status{Pending, Running}
	waiting  = status{Pending, WaitingOnProvider}
	awaiting = status{AwaitingInput, ""}
	ended    = func(s State) status { return status{s, ""} }
)

// transitions is the whole state machine: what may follow what. The CHECKs on the table job say the
// same of single rows.
var transitions = map[status][]status{
	// A start call begins a job here, or in awaiting when something must be asked first.
	queued: {
		queued,                         // a new ticket: the old one was lost, or the job is to clean up
		running,                        // a worker claimed it
		awaiting,                       // the price has changed since it was confirmed
		ended(Succeeded),               // a deprovision of what no driver has ever seen
		ended(Canceled), ended(Failed), // there is nothing to clean up, or the clean-up is given up
	},
	running: {
		running,  // a cancel was requested; its worker sees to it
		queued,   // the lease lapsed, a retry, a drain, a cancel
		waiting,  // the back end works on it
		awaiting, // a question
		ended(Succeeded), ended(Failed), ended(Canceled),
	},
	waiting: {
		waiting, // a new ticket
		running,
		queued,                         // to clean up
		ended(Canceled), ended(Failed), // a deprovision, or a clean-up that is given up
	},
	awaiting: {
		awaiting,                       // one of several questions was answered
		queued,                         // the last one was answered, or the job is to clean up
		ended(Canceled), ended(Failed), // there is nothing to clean up
	},
}

// checkTransition refuses a transition that the machine does not know: that is a fault in this
// package, and must not be written.
func checkTransition(from, to status) error {
	if !slices.Contains(transitions[from], to) {
		return fmt.Errorf("job: no transition from %v to %v", from, to)
	}
	return nil
}

// instanceTransitions is the whole life of an instance, beside what may follow itself. A start call begins
// it in provisioning. docs/operations.md has it as a diagram, which a test holds against this.
var instanceTransitions = map[InstanceState][]InstanceState{
	InstanceProvisioning: {
		InstanceActive,
		InstanceDeprovisioning, // its deletion waits for the end of the provision
		InstanceFailed,
		InstanceDeleted, // canceled with nothing left
	},
	InstanceActive: {
		InstanceDeprovisioning,
		InstanceDeleted, // forgotten by an operator
	},
	InstanceDeprovisioning: {
		InstanceDeleted,
		InstanceFailed,
		InstanceActive, // the deletion was called off before a worker had it
	},
	InstanceFailed: {
		InstanceDeprovisioning,
		InstanceDeleted, // forgotten by an operator; or its provision was canceled last, with nothing left
	},
	InstanceDeleted: {},
}

// moveInstance writes an instance's state, and refuses what its life does not know: that is a fault in
// this package.
func moveInstance(ctx context.Context, w *write, instanceID string, to InstanceState) error {
	from := []InstanceState{to}
	for _, state := range slices.Sorted(maps.Keys(instanceTransitions)) {
		if slices.Contains(instanceTransitions[state], to) {
			from = append(from, state)
		}
	}
	tag, err := w.tx.Exec(ctx, `
		UPDATE instance SET state = $2, updated_at = clock_timestamp() WHERE id = $1 AND state = ANY ($3)`, instanceID, to, from)
	if err != nil {
		return fmt.Errorf("move instance: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("instance %s: no transition to %s", instanceID, to)
	}
	return nil
}
