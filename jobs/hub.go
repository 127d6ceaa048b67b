package jobs

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// hub wakes this process's waiters for a job's change. It is only a shortcut: what it forgets, the
// re-check finds. Safe for concurrent use.
type hub struct {
	mu      sync.Mutex
	waiters map[string]map[*waiter]struct{}
}

// waiter waits for a change of one job after the version that it knows.
type waiter struct {
	wake    chan struct{} // holds one wake-up
	version int64         // guarded by hub.mu
}

func newHub() *hub { return &hub{waiters: make(map[string]map[*waiter]struct{})} }

// join registers a waiter. Register first, then read the job: a change in between wakes.
func (h *hub) join(jobID string) *waiter {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := &waiter{wake: make(chan struct{}, 1)}
	if h.waiters[jobID] == nil {
		h.waiters[jobID] = make(map[*waiter]struct{})
	}
	h.waiters[jobID][w] = struct{}{}
	return w
}

func (h *hub) leave(jobID string, w *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.waiters[jobID], w)
	if len(h.waiters[jobID]) == 0 {
		delete(h.waiters, jobID)
	}
}

// saw notes the version that the waiter has read.
func (h *hub) saw(w *waiter, version int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.version = version
}

func (h *hub) wake(jobIDs ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range jobIDs {
		for w := range h.waiters[id] {
			w.signal()
		}
	}
}

func (h *hub) wakeAll() {
	h.wake(h.waitedFor()...)
}

// wakeOlder wakes the job's waiters that know only an older version.
func (h *hub) wakeOlder(jobID string, version int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.waiters[jobID] {
		if w.version < version {
			w.signal()
		}
	}
}

func (h *hub) waitedFor() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.waiters))
}

func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// tick waits for about the interval; false when ctx is done.
func tick(ctx context.Context, interval time.Duration) bool { return pause(ctx, jitter(interval)) }

// pause waits for d; false when ctx is done.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// jitter spreads an interval over 80 to 120 %, so that replicas do not move in step.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}
