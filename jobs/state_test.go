package jobs

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The diagram in the operators' manual is the code's.
func TestInstanceDiagram(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[InstanceState][]InstanceState{}
	for _, arrow := range regexp.MustCompile(`(?m)^ +(\S+) --> (\S+)`).FindAllSubmatch(manual, -1) {
		from, to := InstanceState(arrow[1]), InstanceState(arrow[2])
		documented[from] = append(documented[from], to)
	}
	declared := map[InstanceState][]InstanceState{"[*]": {InstanceProvisioning}}
	for from, to := range instanceTransitions {
		declared[from] = slices.Clone(to)
		if len(to) == 0 {
			declared[from] = []InstanceState{"[*]"}
		}
	}
	if diff := cmp.Diff(declared, documented, cmpopts.SortSlices(func(a, b InstanceState) bool { return a < b })); diff != "" {
		t.Errorf("code and diagram differ (-code +diagram):\n%s", diff)
	}
}

// Each pair of states is let through by the database's statement if and only if it is declared.
func TestMoveInstance(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	j := f.start(t, StartRequest{})
	for from := range instanceTransitions {
		for to := range instanceTransitions {
			f.exec(t, `UPDATE instance SET state = $2 WHERE id = $1`, j.InstanceID, from)
			err := f.write(t.Context(), func(w *write) error { return moveInstance(t.Context(), w, j.InstanceID, to) })
			if allowed := from == to || slices.Contains(instanceTransitions[from], to); allowed != (err == nil) {
				t.Errorf("%s to %s: %v", from, to, err)
			}
		}
	}
}

// A deletion that failed leaves nothing that a later one, called off, could bring back to life.
func TestDeletionCalledOffOfAFailedInstance(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	j := jobsIn["deprovision between tries"](t, f)
	// It fails in the queue, where no driver tells what is left.
	f.exec(t, `UPDATE job SET deadline_at = clock_timestamp(), due_at = clock_timestamp() WHERE id = $1`, j.ID)
	f.sweepNow(t)
	mustBe(t, "code", f.job(t, j.ID).Error.Code, codeDeadline)
	f.sameLedger(t, j.InstanceID, map[string]bool{"instance": true})
	again := f.deleting(t, j)
	if _, err := f.Cancel(t.Context(), f.caller, again.ID, ""); err != nil {
		t.Fatal(err)
	}
	mustBe(t, "instance", f.instance(t, j.InstanceID).State, InstanceFailed)
}
