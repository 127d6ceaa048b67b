package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/provisiond/provisiond/jobs/catalog"
)

// maxExpiry bounds what may be asked for where the plan does not: ten years.
const maxExpiry = 10 * 365 * 24 * time.Hour

// patchBlockers are the reasons against what changes at once: expiry, protection and labels.
func (in *instanceRow) patchBlockers(s *Service, r UpdateRequest) []Blocker {
	if in.state == InstanceDeleted || in.state == InstanceDeprovisioning {
		return []Blocker{blocker(InstanceNotActive, "", "the instance is "+string(in.state), ByNobody)}
	}
	plan := s.planNamed(in.service, in.plan)
	var blockers []Blocker
	if r.NoExpiry && plan != nil && plan.Expiry.Max > 0 {
		blockers = append(blockers, blocker(InvalidRequest, "/expires_in", fmt.Sprintf("the plan's instances must expire, after %s at the latest", seconds(plan.Expiry.Max)), ByCaller))
	}
	blockers = append(blockers, expiryBlockers(plan, r.ExpiresIn)...)
	protected := in.protected
	if r.Protected != nil {
		protected = *r.Protected
	}
	expires := !r.NoExpiry && (in.expiresAt != nil || r.ExpiresIn > 0)
	return append(blockers, protectionBlockers(protected, expires)...)
}

// expiryBlockers holds a time to live against the plan's bounds. 0 is none.
func expiryBlockers(plan *catalog.Plan, in time.Duration) []Blocker {
	most, whose := maxExpiry, ""
	if plan != nil && plan.Expiry.Max > 0 {
		most, whose = plan.Expiry.Max, ", the plan's bound"
	}
	if in <= most {
		return nil
	}
	return []Blocker{blocker(InvalidRequest, "/expires_in", fmt.Sprintf("must be at most %s%s", seconds(most), whose), ByCaller)}
}

// protectionBlockers refuses an instance that may not be deleted and must.
func protectionBlockers(protected, expires bool) []Blocker {
	if !protected || !expires {
		return nil
	}
	return []Blocker{blocker(InvalidRequest, "/deletion_protection", "must be false for an instance that expires", ByCaller)}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%d seconds", int64(d/time.Second)) }

// withoutWhatIs leaves out what the instance is already.
func (r UpdateRequest) withoutWhatIs(in *instanceRow) (UpdateRequest, error) {
	var labels map[string]string
	if err := json.Unmarshal(in.labels, &labels); err != nil {
		return r, fmt.Errorf("labels: %w", err)
	}
	if maps.Equal(r.Labels, labels) {
		r.Labels = nil
	}
	r.NoExpiry = r.NoExpiry && in.expiresAt != nil
	if r.Protected != nil && *r.Protected == in.protected {
		r.Protected = nil
	}
	return r, nil
}

// patch changes what needs no job.
func (s *Service) patch(ctx context.Context, w *write, c Caller, in *instanceRow, r UpdateRequest) error {
	r, err := r.withoutWhatIs(in)
	if err != nil {
		return err
	}
	if r.Labels == nil && r.ExpiresIn == 0 && !r.NoExpiry && r.Protected == nil {
		return nil
	}
	labels := in.labels
	if r.Labels != nil {
		if labels, err = json.Marshal(r.Labels); err != nil {
			return fmt.Errorf("labels: %w", err)
		}
	}
	_, err = w.tx.Exec(ctx, `
		UPDATE instance SET
			labels = $2,
			expires_at = CASE WHEN $3 THEN NULL WHEN $4::interval > '0' THEN clock_timestamp() + $4::interval ELSE expires_at END,
			warn_at = CASE WHEN $3 THEN NULL WHEN $4::interval > '0' THEN clock_timestamp() + $4::interval - $6::interval ELSE warn_at END,
			protected = coalesce($5, protected),
			updated_at = clock_timestamp()
		WHERE id = $1`, in.id, labels, r.NoExpiry, r.ExpiresIn, r.Protected, s.warningOf(in))
	if err != nil {
		return fmt.Errorf("change instance: %w", err)
	}
	w.instanceEvent(in, c.KeyID, "instance.changed", map[string]any{
		"labels": r.Labels != nil, "expires_in": r.ExpiresIn > 0 || r.NoExpiry, "deletion_protection": r.Protected != nil,
	})
	return nil
}

// warningOf is how long before its end the expiry of the instance is announced.
func (s *Service) warningOf(in *instanceRow) time.Duration {
	if plan := s.planNamed(in.service, in.plan); plan != nil {
		return plan.Expiry.Warning
	}
	return catalog.DefaultWarning
}

// instanceEvent notes a line of history of an instance that is of no job.
func (w *write) instanceEvent(in *instanceRow, actor, kind string, data map[string]any) {
	w.events = append(w.events, eventRow{tenantID: in.tenantID, instanceID: in.id, kind: kind, actor: actor, data: data})
}
