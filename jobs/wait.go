package jobs

import (
	"context"
	"time"
)

// Wait is Get that sleeps last: it returns at once when there is nothing to wait for, otherwise when
// that comes about, after d, or when Drain is called, with the job as it is. With since 0 it waits
// for the job to leave Pending; otherwise, in any state that is not final, for its version to be
// another than since. Errors: NotFound, ctx's.
func (s *Service) Wait(ctx context.Context, c Caller, jobID string, since int64, d time.Duration) (Job, error) {
	if d <= 0 {
		return s.Get(ctx, c, jobID)
	}
	w := s.hub.join(jobID)
	defer s.hub.leave(jobID, w)
	timeout := time.NewTimer(d)
	defer timeout.Stop()
	for {
		j, err := s.Get(ctx, c, jobID)
		if err != nil || !j.worthWaiting(since) {
			return j, err
		}
		s.hub.saw(w, j.Version)
		select {
		case <-w.wake:
		case <-timeout.C:
			return j, nil
		case <-s.drain:
			return j, nil
		case <-ctx.Done():
			return Job{}, ctx.Err()
		}
	}
}

func (j *Job) worthWaiting(since int64) bool {
	if since == 0 {
		return j.State == Pending
	}
	return !j.State.Final() && j.Version == since
}
