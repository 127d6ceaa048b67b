package providertest

import (
	"context"
	"errors"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/provider"
)

// A death is one way for a worker to lose its job. See the package comment.
type death int

const (
	superseded death = iota
	killed
)

func (d death) String() string { return [...]string{"superseded", "killed"}[d] }

var errSuperseded = errors.New("another worker holds the job")

// mortality says when a worker dies.
type mortality struct {
	// stops counts the calls of Checkpoint and Report since dieAtStop.
	stops int
	// dieAt is the stop to die at; 0 is none.
	dieAt int
	death death
	// last is true when no other worker takes over.
	last bool
	// died is true when the worker died within the last call.
	died bool
	// atDeath is how it was outside at that moment.
	atDeath sight
}

// dieAtStop lets the worker die at the n-th stop from now on.
func (m *mortality) dieAtStop(n int, d death) { m.stops, m.dieAt, m.death = 0, n, d }

// stop is a call of Checkpoint or Report.
func (w *worker) stop(kill context.CancelFunc, store func()) error {
	if w.died && w.death == killed {
		return context.Canceled
	}
	if w.died {
		w.t.Error("the driver went on to another Checkpoint or Report after an error of one")
		return errSuperseded
	}
	w.stops++
	if w.stops != w.dieAt {
		store()
		return nil
	}
	w.died = true
	w.atDeath = w.see()
	if w.death == superseded {
		return errSuperseded
	}
	store()
	kill()
	return nil
}

// checkDeath looks at what the driver did after its worker died: nothing outside, and the right error.
func (w *worker) checkDeath(err error) {
	w.t.Helper()
	if diff := cmp.Diff(w.atDeath, w.see()); diff != "" {
		w.t.Errorf("the driver went on outside after its worker was %s (-then +now):\n%s", w.death, diff)
	}
	switch {
	case w.death == superseded && !errors.Is(err, errSuperseded):
		w.t.Errorf("the error of Checkpoint or Report was not returned; got: %v", err)
	case w.death == killed && err != nil && !isContextError(err, context.Canceled):
		// No error is right as well: the stop may have been the driver's last act.
		w.t.Errorf("the context's error was not returned; got: %v", err)
	}
}

// isContextError reports whether the driver returned the context's error and did not make a failure of
// its own of it.
func isContextError(err, want error) bool {
	return errors.Is(err, want) && !errors.As(err, new(*provider.Error))
}

// completeOrDie is complete, but no other worker goes on after a death.
func (w *worker) completeOrDie(do method) {
	w.t.Helper()
	w.last = true
	defer func() { w.last = false }()
	if err := w.try(w.t.Context(), do); err != nil && !w.died {
		w.t.Fatalf("the call does not succeed: %v", err)
	}
}
