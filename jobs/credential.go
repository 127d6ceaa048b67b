package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// bindingShownState is the state as users see it: what is deleted for them may still be there outside.
const bindingShownState = `CASE WHEN removing THEN 'deleting' ELSE state END`

const bindingSelect = `
	SELECT id, instance_id, coalesce(name, ''), ` + bindingShownState + `,
	       coalesce(job_id, (SELECT min(j.id) FROM job j WHERE j.binding_id = binding.id), ''),
	       expires_at, renew_before, coalesce(predecessor_id, ''), created_at
	FROM binding `

// ListBindings lists an instance's bindings, newest first. Errors: NotFound, InvalidCursor.
func (s *Service) ListBindings(ctx context.Context, c Caller, instanceID string, p PageRequest) (Page[Binding], error) {
	key := listKey{"bindings", c.TenantID, instanceID}
	after, err := decodeCursor(key, p.Cursor)
	if err != nil {
		return Page[Binding]{}, err
	}
	if _, err := s.GetInstance(ctx, c, instanceID); err != nil {
		return Page[Binding]{}, err
	}
	rows, err := s.pool.Query(ctx, bindingSelect+`
		WHERE tenant_id = $1 AND instance_id = $2 AND ($3 = '' OR id < $3) ORDER BY id DESC LIMIT $4`,
		c.TenantID, instanceID, after, p.size()+1)
	if err != nil {
		return Page[Binding]{}, fmt.Errorf("list bindings: %w", err)
	}
	bindings, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Binding])
	if err != nil {
		return Page[Binding]{}, fmt.Errorf("list bindings: %w", err)
	}
	return pageOf(bindings, p.size(), key, func(b *Binding) string { return b.ID })
}

// GetBinding reads a binding without its credentials. Error: NotFound.
func (s *Service) GetBinding(ctx context.Context, c Caller, bindingID string) (Binding, error) {
	rows, err := s.pool.Query(ctx, bindingSelect+`WHERE tenant_id = $1 AND id = $2`, c.TenantID, bindingID)
	if err != nil {
		return Binding{}, fmt.Errorf("get binding: %w", err)
	}
	b, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Binding])
	if errors.Is(err, pgx.ErrNoRows) {
		return Binding{}, bindingNotFound()
	}
	return b, wrap("get binding", err)
}

func bindingNotFound() error { return &Error{Code: NotFound, Detail: "there is no such binding"} }

// ReadCredentials opens a binding's credentials, and writes the read to the audit log in the same
// transaction. Errors: NotFound, NotReady while they are not made yet,
// BindingDeleted.
func (s *Service) ReadCredentials(ctx context.Context, c Caller, bindingID string) (Credentials, error) {
	out := Credentials{BindingID: bindingID}
	err := s.write(ctx, func(w *write) error {
		var state string
		var sealed []byte
		err := w.tx.QueryRow(ctx, `
			SELECT instance_id, state, credentials FROM binding WHERE tenant_id = $1 AND id = $2`,
			c.TenantID, bindingID).Scan(&out.InstanceID, &state, &sealed)
		if errors.Is(err, pgx.ErrNoRows) {
			return bindingNotFound()
		}
		if err != nil {
			return fmt.Errorf("read credentials: %w", err)
		}
		switch state {
		case bindingPending:
			return &Error{Code: NotReady, InstanceID: out.InstanceID, Detail: "The credentials are not made yet; wait for the job to succeed."}
		case bindingDeleted:
			return &Error{Code: BindingDeleted, InstanceID: out.InstanceID, Detail: "The binding is deleted, and its credentials with it."}
		}
		w.events = append(w.events, eventRow{
			tenantID: c.TenantID, instanceID: out.InstanceID, kind: "credentials.read", actor: c.KeyID,
			data: map[string]any{"binding_id": bindingID},
		})
		return s.cfg.Sealer.open(place{c.TenantID, "binding", bindingID, "credentials"}, sealed, &out.Values)
	})
	if err != nil {
		return Credentials{}, err
	}
	return out, nil
}
