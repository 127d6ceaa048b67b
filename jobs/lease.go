package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/provider"
)

// leaseMinGap bounds how often a busy job's changes make its worker look.
const leaseMinGap = 100 * time.Millisecond

// keepLease renews the lease every third of it, and looks at once when somebody changes the job. It
// cancels the segment when the lease is lost, could not be renewed in time by this process's own
// clock, or the job is to end. It returns when ctx is done.
func (g *segment) keepLease(ctx context.Context, cancel context.CancelCauseFunc) {
	changed := g.s.hub.join(g.job.ID)
	defer g.s.hub.leave(g.job.ID, changed)
	g.s.hub.saw(changed, g.job.Version)
	ticker := time.NewTicker(g.s.cfg.Lease / 3)
	defer ticker.Stop()
	validUntil := time.Now().Add(g.s.cfg.Lease)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-changed.wake:
			if !pause(ctx, leaseMinGap) {
				return
			}
		}
		asked := time.Now()
		version, canceled, err := g.renew(ctx)
		switch {
		case errors.Is(err, errLostLease):
			cancel(errLostLease)
			return
		case err != nil && time.Now().After(validUntil):
			cancel(errLostLease)
			return
		case err != nil:
			if ctx.Err() == nil {
				g.s.log.Warn("lease not renewed", append(g.attrs(), "error", err)...)
			}
		case canceled && g.ending == "":
			cancel(errCancelRequested)
			return
		default:
			g.s.hub.saw(changed, version)
			validUntil = asked.Add(g.s.cfg.Lease)
		}
	}
}

// renew moves the lease's end and reads whether the job is to end.
func (g *segment) renew(ctx context.Context) (version int64, canceled bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, g.s.cfg.Lease/3)
	defer cancel()
	err = g.s.pool.QueryRow(ctx, `
		UPDATE job SET lease_until = clock_timestamp() + $3::interval, due_at = clock_timestamp() + $3::interval
		WHERE id = $1 AND epoch = $2 AND phase = 'running'
		RETURNING version, cancel_requested`, g.job.ID, g.epoch, g.s.cfg.Lease).Scan(&version, &canceled)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, errLostLease
	}
	return version, canceled, wrap("renew lease", err)
}

// checkpoint implements provider.Request.Checkpoint. While the lease is held it stores the state even if the driver
// is to stop, by a cancel or because its context is done: the clean-up and the next worker need what was made. Only
// then does it return the error that stops the driver.
func (g *segment) checkpoint(ctx context.Context, state []byte) error {
	sealed, err := g.s.cfg.Sealer.seal(place{g.tenantID, "instance", g.job.InstanceID, "provider_state"}, state)
	if err != nil {
		return err
	}
	canceled, err := g.saveState(context.WithoutCancel(ctx), sealed)
	if err != nil {
		return err
	}
	g.state = bytes.Clone(state)
	if canceled {
		return errCancelRequested
	}
	return ctx.Err()
}

// saveState stores the sealed state of a driver, and reports whether the job is to be canceled.
func (g *segment) saveState(ctx context.Context, sealed []byte) (canceled bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	err = g.s.write(ctx, func(w *write) error {
		j, err := lockHeld(ctx, w.tx, g.job.ID, g.epoch)
		if err != nil {
			return err
		}
		canceled = j.cancelDue()
		_, err = w.tx.Exec(ctx, `UPDATE instance SET provider_state = $2 WHERE id = $1`, g.job.InstanceID, sealed)
		return wrap("checkpoint", err)
	})
	return canceled, err
}

// report implements provider.Request.Report. It is refused where the job is to be canceled.
func (g *segment) report(ctx context.Context, p provider.Progress) error {
	return g.s.write(ctx, func(w *write) error {
		j, err := lockHeld(ctx, w.tx, g.job.ID, g.epoch)
		if err != nil {
			return err
		}
		if j.cancelDue() {
			return errCancelRequested
		}
		step := j.Progress.Step
		j.Progress = g.progress(p)
		if j.Progress.Step != step {
			w.event(j, actorWorker, "job.progress", map[string]any{"step": j.Progress.Step, "message": j.Progress.Message})
		}
		return g.s.saveProgress(ctx, w, j)
	})
}

// progress bounds and scrubs what a driver reports.
func (g *segment) progress(p provider.Progress) Progress {
	out := Progress{Step: clip(g.secrets.scrub(p.Step), 64), Message: clip(g.secrets.scrub(p.Message), 500)}
	if p.Percent >= 0 {
		percent := min(p.Percent, 100)
		out.Percent = &percent
	}
	return out
}

// saveProgress writes the progress of a job that goes on running.
func (s *Service) saveProgress(ctx context.Context, w *write, j *jobRow) error {
	_, err := w.tx.Exec(ctx, `
		UPDATE job SET progress = $2, version = version + 1, updated_at = clock_timestamp() WHERE id = $1`, j.ID, j.Progress)
	if err != nil {
		return fmt.Errorf("save progress: %w", err)
	}
	w.changed = append(w.changed, j.ID)
	return nil
}
