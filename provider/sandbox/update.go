package sandbox

import (
	"context"
	"time"

	"github.com/provisiond/provisiond/provider"
)

// Update implements provider.Driver. The knobs are those that the instance is changed to.
func (d *driver) Update(ctx context.Context, r *provider.Request) (provider.Endpoint, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k, err := knobsOf(r)
	if err != nil {
		return nil, err
	}
	to, err := k.detail(r)
	if err != nil {
		return nil, err
	}
	s, err := readState(r)
	if err != nil {
		return nil, err
	}
	exists, err := d.backend.find(ctx, r.InstanceID, instanceName(r))
	if err != nil {
		return nil, err
	}
	if !exists {
		gone := notThere()
		gone.Unusable, gone.NotRepeatable = true, true
		return nil, gone
	}
	if err := d.changeTo(ctx, r, k, &s, to); err != nil {
		return nil, err
	}
	return endpoint(r), nil
}

// changeTo changes the object, unless an earlier call did.
func (d *driver) changeTo(ctx context.Context, r *provider.Request, k knobs, s *state, to string) error {
	done, err := d.backend.is(ctx, r.InstanceID, instanceName(r), to)
	if err != nil || done {
		return err
	}
	if err := d.spendUpdate(ctx, r, k, s, to); err != nil {
		return err
	}
	err = r.Report(ctx, provider.Progress{Percent: -1, Step: "update", Message: "Updating the simulated instance."})
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.backend.change(ctx, r.InstanceID, instanceName(r), to)
}

// spendUpdate takes the time and fails as often as the knobs say.
func (d *driver) spendUpdate(ctx context.Context, r *provider.Request, k knobs, s *state, to string) error {
	if s.Update.To != to {
		s.Update = updateState{To: to, Began: time.Now().UTC()}
		if err := s.save(ctx, r); err != nil {
			return err
		}
	}
	if err := pass(ctx, s.Update.Began, time.Duration(k.updateDuration), "The update is being simulated."); err != nil {
		return err
	}
	if k.failUpdate == nil || !k.failUpdate.times.more(s.Update.Failures) {
		return nil
	}
	s.Update.Failures++
	if err := s.save(ctx, r); err != nil {
		return err
	}
	if k.failUpdate.unusable {
		if err := d.backend.change(ctx, r.InstanceID, instanceName(r), brokenDetail); err != nil {
			return err
		}
	}
	return k.failUpdate.asError()
}
