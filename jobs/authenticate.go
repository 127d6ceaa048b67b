package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// keyCacheTTL bounds how long a replica goes on with what it knows of a key. A revocation is also
// notified, see [Admin.RevokeKey].
const keyCacheTTL = 5 * time.Second

// keyCache saves a poll the second query. It holds what was found, never what was not.
type keyCache struct {
	mu     sync.Mutex
	byHash map[string]cachedKey
	// generation tells a look-up that was under way during a purge, so that it is not kept.
	generation int
}

type cachedKey struct {
	caller Caller
	until  time.Time
}

func (k *keyCache) get(hash string) (Caller, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, ok := k.byHash[hash]
	if !ok || time.Now().After(c.until) {
		delete(k.byHash, hash)
		return Caller{}, false
	}
	return c.caller, true
}

func (k *keyCache) begin() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.generation
}

func (k *keyCache) put(hash string, c cachedKey, generation int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.generation != generation {
		return
	}
	if k.byHash == nil || len(k.byHash) >= 10_000 {
		k.byHash = make(map[string]cachedKey)
	}
	k.byHash[hash] = c
}

func (k *keyCache) purge() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.byHash = nil
	k.generation++
}

// Authenticate finds who an API key belongs to. Error: Unauthenticated, the same whether the key is
// malformed, unknown, expired or revoked.
func (s *Service) Authenticate(ctx context.Context, token string) (Caller, error) {
	refused := &Error{Code: Unauthenticated, Detail: "a valid API key is needed: Authorization: Bearer prov_…"}
	if !wellFormedKey(token) {
		return Caller{}, refused
	}
	hash := hashKey(token)
	if c, ok := s.keys.get(string(hash)); ok {
		return c, nil
	}
	generation := s.keys.begin()
	var c Caller
	var left *time.Duration
	var touch bool
	err := s.pool.QueryRow(ctx, `
		SELECT id, tenant_id, kind, scopes, expires_at - clock_timestamp(),
		       coalesce(last_used_at < clock_timestamp() - interval '1 minute', true)
		FROM api_key
		WHERE hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())`, hash).
		Scan(&c.KeyID, &c.TenantID, &c.Kind, &c.Scopes, &left, &touch)
	if errors.Is(err, pgx.ErrNoRows) {
		return Caller{}, refused
	}
	if err != nil {
		return Caller{}, fmt.Errorf("authenticate: %w", err)
	}
	if touch {
		if _, err := s.pool.Exec(ctx, `UPDATE api_key SET last_used_at = clock_timestamp() WHERE id = $1`, c.KeyID); err != nil {
			return Caller{}, fmt.Errorf("authenticate: %w", err)
		}
	}
	ttl := keyCacheTTL
	if left != nil {
		ttl = min(ttl, *left)
	}
	s.keys.put(string(hash), cachedKey{c, time.Now().Add(ttl)}, generation)
	return c, nil
}
