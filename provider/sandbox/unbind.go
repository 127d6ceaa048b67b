package sandbox

import (
	"context"

	"github.com/provisiond/provisiond/provider"
)

// Unbind implements provider.Driver.
func (d *driver) Unbind(ctx context.Context, r *provider.Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	k, err := knobsOf(r)
	if err != nil {
		// As with Deprovision: an end does not depend on the knobs.
		k = knobs{}
	}
	s, err := readState(r)
	if err != nil {
		return err
	}
	name := credentialName(r.BindingID)
	exists, err := d.backend.find(ctx, r.InstanceID, name)
	if err != nil || !exists {
		return err
	}
	if err := s.failToUnbind(ctx, r, k); err != nil {
		return err
	}
	err = r.Report(ctx, provider.Progress{Percent: -1, Step: "unbind", Message: "Removing the simulated credentials."})
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.backend.remove(ctx, r.InstanceID, name)
}

// failToUnbind fails as often as the knob says, for each binding.
func (s *state) failToUnbind(ctx context.Context, r *provider.Request, k knobs) error {
	if s.Unbind.BindingID != r.BindingID {
		s.Unbind = unbindState{BindingID: r.BindingID}
	}
	if !k.failUnbind.more(s.Unbind.Failures) {
		return nil
	}
	s.Unbind.Failures++
	if err := s.save(ctx, r); err != nil {
		return err
	}
	return &provider.Error{Code: provider.ErrUnavailable, Retryable: true,
		Message: "The sandbox fails to remove the credentials, as its plan says."}
}
