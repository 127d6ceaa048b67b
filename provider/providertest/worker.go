package providertest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/provisiond/provisiond/provider"
)

// A worker plays provisiond's part for one instance. It is used by one goroutine.
type worker struct {
	mortality
	transcript

	t *testing.T
	h Harness

	instanceID string
	// bindingID is the binding that bind works on.
	bindingID string
	// bindings are those that exist, oldest first.
	bindings   []*binding
	settings   json.RawMessage
	parameters map[string]any
	answers    map[string]map[string]any
	// state is the last checkpoint.
	state  []byte
	intent intent
}

// newWorker makes a worker for a new instance, which is removed when the test ends.
func newWorker(t *testing.T, h Harness) *worker {
	w := &worker{
		t: t, h: h,
		instanceID: "inst_" + newSuffix(),
		bindingID:  newBindingID(),
		settings:   h.Settings,
		parameters: h.Parameters,
		answers:    map[string]map[string]any{},
		transcript: transcript{secrets: h.Secrets},
	}
	t.Cleanup(func() { w.checkTranscript(t) })
	t.Cleanup(w.remove)
	return w
}

// newSuffix is 26 random lower-case letters and digits: the form of an ID, without its time.
func newSuffix() string { return strings.ToLower(rand.Text()) }

func newBindingID() string { return "bind_" + newSuffix() }

// A method is one of the driver's.
type method func(ctx context.Context, r *provider.Request) error

// request is what provisiond would send now. Nothing in it is shared with an earlier call.
func (w *worker) request() *provider.Request {
	return &provider.Request{
		InstanceID: w.instanceID,
		Settings:   w.settings,
		Parameters: maps.Clone(w.parameters),
		Answers:    maps.Clone(w.answers),
		State:      bytes.Clone(w.state),
	}
}

// call makes one call.
func (w *worker) call(ctx context.Context, do method) error {
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	w.died = false
	w.intent = intent{known: w.outside()}
	r := w.request()
	r.Checkpoint = func(_ context.Context, state []byte) error {
		w.checkIntent()
		w.intent.announced = true
		return w.stop(kill, func() { w.state = bytes.Clone(state) })
	}
	r.Report = func(_ context.Context, p provider.Progress) error {
		w.checkIntent()
		w.checkProgress(p)
		return w.stop(kill, func() {})
	}
	err := do(ctx, r)
	w.checkIntent()
	if err != nil {
		w.say(err.Error())
	}
	if w.died {
		w.checkDeath(err)
	}
	return err
}

func (w *worker) checkProgress(p provider.Progress) {
	w.say(p.Step, p.Message)
	if p.Percent < -1 || p.Percent > 100 || p.Message == "" || len(strings.Fields(p.Step)) != 1 {
		w.t.Errorf("Report(%+v): want a percentage or -1, one word as the step, and a message", p)
	}
}

const (
	// maxCalls bounds a driver that asks or waits for ever.
	maxCalls = 1000
	// maxFailures is how many retryable errors are borne. The delay doubles with each.
	maxFailures = 10
	firstDelay  = 2 * time.Millisecond
)

// try calls until the work is done or fails for good, as provisiond does.
func (w *worker) try(ctx context.Context, do method) error {
	w.t.Helper()
	failures := 0
	var err error
	for range maxCalls {
		err = w.call(ctx, do)
		if err == nil || !w.follow(ctx, err, &failures) {
			return err
		}
	}
	return err
}

// follow does what the driver's error asks for and reports whether to call again.
func (w *worker) follow(ctx context.Context, err error, failures *int) bool {
	w.t.Helper()
	var ask *provider.InputRequired
	var pending *provider.Pending
	var failure *provider.Error
	switch {
	case w.died:
		return !w.last
	case errors.As(err, &ask):
		w.answer(ask.Questions)
		return true
	case errors.As(err, &pending):
		w.say(pending.Message)
		wait(ctx, pending.After)
		return true
	case errors.As(err, &failure) && failure.Retryable && *failures < maxFailures:
		*failures++
		wait(ctx, firstDelay<<*failures)
		return true
	default:
		return false
	}
}

// complete is try for a call that must succeed.
func (w *worker) complete(do method) {
	w.t.Helper()
	if err := w.try(w.t.Context(), do); err != nil {
		w.t.Fatalf("the call does not succeed: %v", err)
	}
}

// wait follows a delay that the driver asked for.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// answer gives the harness's answers to the questions.
func (w *worker) answer(questions []provider.Question) {
	w.t.Helper()
	if len(questions) == 0 {
		w.t.Fatal("InputRequired without questions")
	}
	for _, q := range questions {
		w.say(q.Name, q.Message)
		if err := checkQuestion(q); err != nil {
			w.t.Errorf("question %s: %v", q.Name, err)
		}
		if _, again := w.answers[q.Name]; again {
			w.t.Fatalf("question %s was asked again after its answer", q.Name)
		}
		answer, ok := w.h.Answers[q.Name]
		if !ok {
			w.t.Fatalf("Harness.Answers has no answer to question %s", q.Name)
		}
		w.answers[q.Name] = answer
	}
}

// remove cleans up after a test that may have stopped half-way.
func (w *worker) remove() {
	w.dieAtStop(0, killed)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// The test has said what is wrong; an instance that cannot be removed adds nothing to that.
	_ = w.try(ctx, w.h.Driver.Deprovision)
}
