package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// TenantID finds a tenant by its name or its ID, for callers that another system vouches for. No text
// is both: only IDs have an underscore. Error: NotFound.
func (s *Service) TenantID(ctx context.Context, nameOrID string) (string, error) {
	// Beside the keys, which are cached by 32 bytes of hash: a poll with a token needs no second query
	// either.
	cached := "tenant " + nameOrID
	if c, ok := s.keys.get(cached); ok {
		return c.TenantID, nil
	}
	generation := s.keys.begin()
	var id string
	err := s.pool.QueryRow(ctx, `SELECT id FROM tenant WHERE name = $1 OR id = $1`, nameOrID).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", &Error{Code: NotFound, Detail: "there is no tenant of this name or ID"}
	}
	if err != nil {
		return "", fmt.Errorf("find tenant: %w", err)
	}
	s.keys.put(cached, cachedKey{Caller{TenantID: id}, time.Now().Add(keyCacheTTL)}, generation)
	return id, nil
}
