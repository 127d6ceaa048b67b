package api

import (
	"strings"
	"testing"

	"github.com/provisiond/provisiond/jobs"
)

// Every operation of the contract has words for people.
func TestOperationsInWords(t *testing.T) {
	t.Parallel()
	operations := loadDoc(t).Components.Schemas["Operation"].Value.Enum
	if len(operations) != 7 {
		t.Errorf("operations %v", operations)
	}
	for _, o := range operations {
		name := o.(string)
		if words := operationInWords(jobs.Operation(name)); words == name || words == "" {
			t.Errorf("%s is told as %q", name, words)
		}
	}
}

func TestFailureInWords(t *testing.T) {
	t.Parallel()
	for operation, want := range map[jobs.Operation]string{jobs.OpProvision: "The same start may work later.", jobs.OpUpdate: "The same call may work later."} {
		job := &jobs.Job{Operation: operation, Error: &jobs.JobError{Code: "c", Message: "m", Retryable: true}}
		if got := failureInWords(job); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q", operation, got)
		}
	}
}

func TestEventOfACheckInWords(t *testing.T) {
	t.Parallel()
	got := eventInWords(&jobs.Event{Type: "instance.checked", Data: map[string]any{"findings": float64(2)}})
	if want := "Compared with what exists; differences: 2."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
