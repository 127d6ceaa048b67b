package jobs

import (
	"errors"
	"slices"

	"pgregory.net/rapid"
)

// operate is what an operator may do at any time.
func (m *machine) operate(rt *rapid.T) {
	o := m.f.operator(m.t)
	id := m.pick(rt, m.jobs)
	switch rapid.SampledFrom([]string{"retry", "fail", "fail", "forget", "instance"}).Draw(rt, "command") {
	case "retry":
		m.allow(rt, o.RetryJob(m.ctx(), id, ""), JobFinished, NotReady)
	case "fail": // a worker that runs it is in its driver until the lease has lapsed
		m.allow(rt, o.FailJob(m.ctx(), id, ""), JobFinished)
	case "forget":
		err := o.ForgetJob(m.ctx(), id, "")
		m.allow(rt, err, JobFinished)
		m.stop(id)
	case "instance":
		m.allow(rt, o.ForgetInstance(m.ctx(), m.pick(rt, m.instances), ""), OperationInProgress, InstanceNotActive)
	}
}

// stop makes what a worker still does for the job a thing of the past.
func (m *machine) stop(jobID string) {
	m.segments = slices.DeleteFunc(m.segments, func(seg *segment) bool {
		if seg.job.ID == jobID {
			m.past = append(m.past, seg)
		}
		return seg.job.ID == jobID
	})
}

// lost reports whether an operator has taken the job from the segment. Its settling is refused then.
func (m *machine) lost(rt *rapid.T, seg *segment) bool {
	if m.f.epochOf(m.t, seg.job.ID) == seg.epoch {
		return false
	}
	if err := seg.settle(m.ctx(), nil, outcome{}); !errors.Is(err, errLostLease) {
		rt.Fatalf("settled although an operator has the job: %v", err)
	}
	return true
}

// lapseTaken lets the leases end that an operator has taken.
func (m *machine) lapseTaken(rt *rapid.T) {
	jobs, err := m.f.operator(m.t).ListJobs(m.ctx(), OperatorJobFilter{Phase: CleaningUp, Limit: 1000})
	m.allow(rt, err)
	for _, j := range jobs {
		if j.Owner == actorOperator {
			m.stop(j.ID)
			m.f.lapse(m.t, j.ID)
		}
	}
}
