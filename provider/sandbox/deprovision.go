package sandbox

import (
	"context"
	"time"

	"github.com/provisiond/provisiond/provider"
)

// Deprovision implements provider.Driver.
func (d *driver) Deprovision(ctx context.Context, r *provider.Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	k, err := knobsOf(r)
	if err != nil {
		// Provision refused these knobs, and what it refused must still be removable.
		k = knobs{}
	}
	s, err := readState(r)
	if err != nil {
		return err
	}
	if _, err := d.backend.find(ctx, r.InstanceID, instanceName(r)); err != nil {
		return err
	}
	if err := s.spendRemoval(ctx, r, k); err != nil {
		return err
	}
	err = r.Report(ctx, provider.Progress{Percent: -1, Step: "remove", Message: "Removing the simulated instance."})
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.backend.removeAll(ctx, r.InstanceID)
}

// spendRemoval takes the time and fails as often as the knobs say.
func (s *state) spendRemoval(ctx context.Context, r *provider.Request, k knobs) error {
	if s.RemovalBegan.IsZero() {
		s.RemovalBegan = time.Now().UTC()
		if err := s.save(ctx, r); err != nil {
			return err
		}
	}
	if err := pass(ctx, s.RemovalBegan, time.Duration(k.deprovisionDuration), "The removal is being simulated."); err != nil {
		return err
	}
	if !k.failDeprovision.more(s.RemovalFailures) {
		return nil
	}
	s.RemovalFailures++
	if err := s.save(ctx, r); err != nil {
		return err
	}
	return &provider.Error{Code: provider.ErrUnavailable, Retryable: true,
		Message: "The sandbox fails to remove the instance, as its plan says."}
}
