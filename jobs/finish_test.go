package jobs

import (
	"strings"
	"testing"
	"time"
)

// A deprovision that waited has its plan's time from when it begins, also where an operator, who has no catalog,
// ends the job before it.
func TestADeprovisionThatWaitedHasItsTime(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *fixture, Job) error{
		"its worker": func(t *testing.T, f *fixture, j Job) error {
			return (&segment{s: f.Service, job: j, tenantID: f.caller.TenantID, epoch: f.epochOf(t, j.ID)}).settle(t.Context(), nil, outcome{})
		},
		"jobs forget": func(t *testing.T, f *fixture, j Job) error { return f.operator(t).ForgetJob(t.Context(), j.ID, "") },
		"jobs fail": func(t *testing.T, f *fixture, j Job) error {
			defer f.sweepNow(t)
			defer f.lapse(t, j.ID)
			return f.operator(t).FailJob(t.Context(), j.ID, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.Service = f.withCatalog(t, strings.Replace(testCatalog, "{ id: plain,", "{ id: plain, deadline: 7m,", 1))
			j := f.start(t, StartRequest{})
			f.claimed(t, j)
			waits := f.deleting(t, j)
			f.exec(t, `UPDATE job SET created_at = created_at - interval '1 h', deadline_at = deadline_at - interval '1 h' WHERE id = $1`, waits.ID)
			if err := end(t, f, j); err != nil {
				t.Fatal(err)
			}
			got := f.job(t, waits.ID)
			mustBe(t, "phase", got.Phase, Queued)
			mustBe(t, "its time", got.DeadlineAt.Sub(got.UpdatedAt).Round(time.Minute), 7*time.Minute)
		})
	}
}
