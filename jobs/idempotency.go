package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// idempotencyKept is how long the first answer to a key is kept.
const idempotencyKept = 24 * time.Hour

// fingerprint is what must be equal for two requests of one key to be the same.
type fingerprint struct {
	Call    string
	Request any
}

// idempotent runs fn in a transaction, at most once for each idempotency key of the tenant; "" is no
// key. The same request again gets the first answer.
//
// Errors: IdempotencyKeyReused, IdempotencyInProgress, and fn's.
func (s *Service) idempotent(ctx context.Context, c Caller, key, call string, request any, fn func(*write) (Result, error)) (Result, error) {
	var result Result
	err := s.write(ctx, func(w *write) error {
		var err error
		if key == "" {
			result, err = fn(w)
			return err
		}
		fp := fingerprint{call, request}
		var found bool
		if result, found, err = s.replay(ctx, w, c, key, fp); err != nil || found {
			return err
		}
		if result, err = fn(w); err != nil {
			return err
		}
		return s.remember(ctx, w, c, key, fp, result)
	})
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// replay takes the key for this transaction, then looks for a first answer.
func (s *Service) replay(ctx context.Context, w *write, c Caller, key string, fp fingerprint) (Result, bool, error) {
	var free bool
	err := w.tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock(hashtextextended($1 || '|' || $2, 0))`, c.TenantID, key).Scan(&free)
	if err != nil {
		return Result{}, false, fmt.Errorf("take idempotency key: %w", err)
	}
	if !free {
		return Result{}, false, &Error{
			Code: IdempotencyInProgress, RetryAfter: time.Second,
			Detail: "The first request with this Idempotency-Key is still being handled; send it again.",
		}
	}
	var digest, response []byte
	result := Result{Replayed: true}
	err = w.tx.QueryRow(ctx, `
		SELECT digest, existing, response FROM idempotency
		WHERE tenant_id = $1 AND key = $2 AND created_at > clock_timestamp() - $3::interval`,
		c.TenantID, key, idempotencyKept).Scan(&digest, &result.Existing, &response)
	if errors.Is(err, pgx.ErrNoRows) {
		return Result{}, false, nil
	}
	if err != nil {
		return Result{}, false, fmt.Errorf("find idempotency key: %w", err)
	}
	same, err := s.cfg.Sealer.sameDigest(idempotencyPlace(c, key), digest, fp)
	if err != nil {
		return Result{}, false, err
	}
	if !same {
		return Result{}, false, &Error{
			Code: IdempotencyKeyReused, Detail: "This Idempotency-Key was used for a different request; use a new one.",
		}
	}
	if err := json.Unmarshal(response, &result.Job); err != nil {
		return Result{}, false, fmt.Errorf("first answer: %w", err)
	}
	return result, true, nil
}

// remember keeps the first answer, with the transaction that makes it true.
func (s *Service) remember(ctx context.Context, w *write, c Caller, key string, fp fingerprint, r Result) error {
	digest, err := s.cfg.Sealer.sealDigest(idempotencyPlace(c, key), fp)
	if err != nil {
		return err
	}
	response, err := json.Marshal(r.Job)
	if err != nil {
		return fmt.Errorf("first answer: %w", err)
	}
	// An expired row of the same key, not yet removed, gives way.
	_, err = w.tx.Exec(ctx, `
		INSERT INTO idempotency (tenant_id, key, digest, existing, response) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (tenant_id, key) DO UPDATE
		SET digest = excluded.digest, existing = excluded.existing, response = excluded.response, created_at = clock_timestamp()
		WHERE idempotency.created_at <= clock_timestamp() - $6::interval`,
		c.TenantID, key, digest, r.Existing, response, idempotencyKept)
	if err != nil {
		return fmt.Errorf("remember answer: %w", err)
	}
	return nil
}

func idempotencyPlace(c Caller, key string) place {
	return place{c.TenantID, "idempotency", key, "digest"}
}
