package jobs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Key is an API key without its secret.
type Key struct {
	ID, TenantID, Name string
	Kind               KeyKind
	Scopes             []string
	CreatedAt          time.Time
	ExpiresAt          *time.Time
	RevokedAt          *time.Time
	LastUsedAt         *time.Time // to the minute
}

// NewKey asks for a key.
type NewKey struct {
	TenantID, Name string
	Kind           KeyKind
	Scopes         []string
	ExpiresAt      *time.Time // nil = never
}

// keyText is base32 (RFC 4648) in lower case without padding.
var keyText = base32.StdEncoding.WithPadding(base32.NoPadding)

// newKeyToken makes the text of a key: prov_<kind>_<random>_<checksum>. The prefix and the checksum
// (CRC-32) let secret scanners find leaked keys and refuse mistyped ones without the database.
func newKeyToken(kind KeyKind) string {
	random := make([]byte, 24)
	_, _ = rand.Read(random) // never fails (crypto/rand)
	body := fmt.Sprintf("prov_%s_%s", kind, strings.ToLower(keyText.EncodeToString(random)))
	return body + "_" + keyChecksum(body)
}

func keyChecksum(body string) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body)))
}

// wellFormedKey reports whether the text can be a key at all.
func wellFormedKey(token string) bool {
	body, sum, ok := cutLast(token, "_")
	return ok && len(token) <= 100 && strings.HasPrefix(body, "prov_") && sum == keyChecksum(body)
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// hashKey is what is stored of a key, and looked up by: that takes no secret-dependent comparison.
func hashKey(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// CreateKey makes a key and returns its text, which is not stored and cannot be shown again.
// Error: InvalidRequest.
func (a *Admin) CreateKey(ctx context.Context, n NewKey) (Key, string, error) {
	if !slices.Contains([]KeyKind{KindAgent, KindPerson, KindService, KindAdmin}, n.Kind) {
		return Key{}, "", &Error{Code: InvalidRequest, Detail: "a key's kind is agent, person, service or admin"}
	}
	for _, scope := range n.Scopes {
		if !slices.Contains(AllScopes(), scope) {
			return Key{}, "", &Error{Code: InvalidRequest, Detail: "a scope is one of " + strings.Join(AllScopes(), ", ")}
		}
	}
	token := newKeyToken(n.Kind)
	if n.Scopes == nil {
		n.Scopes = []string{}
	}
	k := Key{ID: newID("key"), TenantID: n.TenantID, Name: n.Name, Kind: n.Kind, Scopes: n.Scopes, ExpiresAt: n.ExpiresAt}
	err := pgx.BeginFunc(ctx, a.pool, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			INSERT INTO api_key (id, tenant_id, kind, name, scopes, hash, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING created_at`,
			k.ID, k.TenantID, k.Kind, k.Name, k.Scopes, hashKey(token), k.ExpiresAt).Scan(&k.CreatedAt)
		if err != nil {
			return err
		}
		return insertEvents(ctx, tx, []eventRow{{tenantID: k.TenantID, kind: "key.created", actor: actorOperator,
			data: map[string]any{"key_id": k.ID, "kind": k.Kind, "scopes": k.Scopes}}})
	})
	if violates(err, "api_key_tenant_id_fkey") {
		return Key{}, "", &Error{Code: NotFound, Detail: "there is no such tenant"}
	}
	if err != nil {
		return Key{}, "", fmt.Errorf("create key: %w", err)
	}
	return k, token, nil
}

// ListKeys lists a tenant's keys, oldest first.
func (a *Admin) ListKeys(ctx context.Context, tenantID string) ([]Key, error) {
	rows, err := a.pool.Query(ctx, `
		SELECT id, tenant_id, name, kind, scopes, created_at, expires_at, revoked_at, last_used_at
		FROM api_key WHERE tenant_id = $1 ORDER BY id`, tenantID)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	keys, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Key])
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return keys, nil
}

// RevokeKey revokes a key, for ever. Replicas that can be notified refuse it at once, the others
// within keyCacheTTL. Error: NotFound. A revoked key again is no error.
func (a *Admin) RevokeKey(ctx context.Context, keyID string) error {
	err := pgx.BeginFunc(ctx, a.pool, func(tx pgx.Tx) error {
		var tenantID string
		err := tx.QueryRow(ctx, `
			UPDATE api_key SET revoked_at = coalesce(revoked_at, clock_timestamp()) WHERE id = $1
			RETURNING tenant_id`, keyID).Scan(&tenantID)
		if err != nil {
			return err
		}
		if err := insertEvents(ctx, tx, []eventRow{{tenantID: tenantID, kind: "key.revoked", actor: actorOperator,
			data: map[string]any{"key_id": keyID}}}); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `SELECT pg_notify($1, $2)`, notifyChannel, keysChanged)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return &Error{Code: NotFound, Detail: "there is no key of this ID"}
	}
	if err != nil {
		return fmt.Errorf("revoke key: %w", err)
	}
	return nil
}
