package postgres

import (
	"context"
	"time"

	"github.com/provisiond/provisiond/provider"
)

// sessionEnd is how long a session gets to end once it was told to.
const sessionEnd = 10 * time.Second

// endSessions ends what the roles have open in any database, and waits until it has ended, so that no
// session outlives its credentials.
func (s *session) endSessions(ctx context.Context, logins []string) error {
	if len(logins) == 0 {
		return nil
	}
	open, err := s.tellToEnd(ctx, logins)
	if err != nil {
		return failure(ctx, "end the sessions", err)
	}
	if open {
		return &provider.Error{Code: provider.ErrConflict, Retryable: true,
			Message: "Could not end the sessions: one of them takes its time."}
	}
	return nil
}

// tellToEnd reports whether a session is still there.
func (s *session) tellToEnd(ctx context.Context, logins []string) (open bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	// All are told before any is waited for.
	for _, wait := range []time.Duration{0, sessionEnd} {
		_, err := s.conn.Exec(ctx, `SELECT pg_terminate_backend(pid, $2) FROM pg_stat_activity
			WHERE usename = ANY ($1::text[])`, logins, wait.Milliseconds())
		if err != nil {
			return false, err
		}
	}
	err = s.conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE usename = ANY ($1::text[]))`,
		logins).Scan(&open)
	return open, err
}
