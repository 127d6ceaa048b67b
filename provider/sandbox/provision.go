package sandbox

import (
	"context"
	"fmt"
	"time"

	"github.com/provisiond/provisiond/provider"
)

// Provision implements provider.Driver.
func (d *driver) Provision(ctx context.Context, r *provider.Request) (provider.Endpoint, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k, err := knobsOf(r)
	if err != nil {
		return nil, err
	}
	s, err := readState(r)
	if err != nil {
		return nil, err
	}
	if err := k.ask(r, s.Step); err != nil {
		return nil, err
	}
	for s.Step < k.steps {
		if err := d.advance(ctx, r, k, &s); err != nil {
			return nil, err
		}
		if err := k.ask(r, s.Step); err != nil {
			return nil, err
		}
	}
	return endpoint(r), nil
}

func endpoint(r *provider.Request) provider.Endpoint {
	return provider.Endpoint{"host": host(r), "simulated": "true"}
}

// host never resolves: RFC 6761 keeps .invalid free.
func host(r *provider.Request) string { return instanceName(r) + ".invalid" }

// advance does the next step, or goes on with it. The first one makes the instance.
func (d *driver) advance(ctx context.Context, r *provider.Request, k knobs, s *state) error {
	if s.Step == 0 {
		if err := d.makeInstance(ctx, r, k, s); err != nil {
			return err
		}
	}
	if s.StepBegan.IsZero() {
		s.StepBegan = time.Now().UTC()
		if err := s.save(ctx, r); err != nil {
			return err
		}
	}
	step := s.Step + 1
	doing := fmt.Sprintf("Step %d of %d is being simulated.", step, k.steps)
	if err := pass(ctx, s.StepBegan, k.stepDuration(), doing); err != nil {
		return err
	}
	if step == k.failAtStep && k.failure.times.more(s.Failures) {
		s.Failures++
		if err := s.save(ctx, r); err != nil {
			return err
		}
		return k.failure.asError()
	}
	s.Step, s.StepBegan = step, time.Time{}
	if err := s.save(ctx, r); err != nil {
		return err
	}
	return report(ctx, r, k, step)
}

// makeInstance makes the object, unless an earlier call did. The first step's time begins with it.
func (d *driver) makeInstance(ctx context.Context, r *provider.Request, k knobs, s *state) error {
	exists, err := d.backend.find(ctx, r.InstanceID, instanceName(r))
	if err != nil || exists {
		return err
	}
	detail, err := k.detail(r)
	if err != nil {
		return err
	}
	s.StepBegan = time.Now().UTC()
	if err := s.save(ctx, r); err != nil {
		return err
	}
	if err := d.backend.make(ctx, r.InstanceID, kindInstance, instanceName(r), detail); err != nil {
		return err
	}
	if k.loseAnswer {
		// The next call finds the instance, and so loses nothing.
		return &provider.Error{Code: provider.ErrUnavailable, Retryable: true,
			Message: "The sandbox's answer was lost, as its plan says."}
	}
	return nil
}

func report(ctx context.Context, r *provider.Request, k knobs, step int) error {
	err := r.Report(ctx, provider.Progress{
		Percent: 100 * step / k.steps,
		Step:    fmt.Sprintf("step_%d", step),
		Message: fmt.Sprintf("Step %d of %d is done (simulated).", step, k.steps),
	})
	if err != nil {
		return err
	}
	return ctx.Err()
}

// maxWait is how long a worker is held at most.
const maxWait = time.Second

// pass lets the rest of the time since the beginning pass: it waits for a short rest and returns
// Pending for a long one.
func pass(ctx context.Context, began time.Time, d time.Duration, message string) error {
	rest := time.Until(began.Add(d))
	if rest <= 0 {
		return ctx.Err()
	}
	if rest > maxWait {
		return &provider.Pending{After: rest, Message: message}
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
