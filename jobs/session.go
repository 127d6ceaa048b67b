package jobs

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// SessionTime is how long a person stays signed in to the pages.
const SessionTime = 12 * time.Hour

// Session is a person's sign-in to the pages. It stands, sealed, in a cookie and nowhere else, so that
// every replica knows it. That of a key ends early when the key does.
type Session struct {
	KeyID     string    `json:"key_id"`
	TenantID  string    `json:"tenant_id"`
	ExpiresAt time.Time `json:"expires_at"`
	// Kind and Scopes are those of a person whom an OpenID provider vouches for: the KeyID is then the
	// subject's. They are empty for an API key, which is looked up.
	Kind   KeyKind  `json:"kind,omitempty"`
	Scopes []string `json:"scopes,omitempty"`
}

// sessionPlace keeps other sealed values from passing for a session. Whose it is shows once it is open.
var sessionPlace = place{table: "session", column: "cookie"}

// maxCookieText bounds what is decrypted, in bytes; a session is about 400.
const maxCookieText = 1024

var errNoSession = &Error{Code: Unauthenticated, Detail: "You are not signed in, or no longer."}

// SealSession writes a session as text that a cookie can hold.
func (s *Sealer) SealSession(session Session) (string, error) {
	return s.sealText(sessionPlace, session)
}

// OpenSession reads what SealSession wrote. Error: Unauthenticated.
func (s *Sealer) OpenSession(text string) (Session, error) {
	var session Session
	if !s.openText(sessionPlace, text, &session) {
		return Session{}, errNoSession
	}
	return session, nil
}

// sealText is seal for a cookie.
func (s *Sealer) sealText(p place, value any) (string, error) {
	sealed, err := s.seal(p, value)
	return base64.RawURLEncoding.EncodeToString(sealed), err
}

// openText reports whether the text is what sealText made for the same place.
func (s *Sealer) openText(p place, text string, value any) bool {
	if text == "" || len(text) > maxCookieText {
		return false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && s.open(p, sealed, value) == nil
}

// SignIn begins a session with a person's key and returns it as text for a cookie. Errors:
// Unauthenticated as of Authenticate, PersonRequired for the key of an agent or a service.
func (s *Service) SignIn(ctx context.Context, token string) (Caller, string, error) {
	c, err := s.Authenticate(ctx, token)
	if err != nil {
		return Caller{}, "", err
	}
	if !c.isPerson() {
		return Caller{}, "", errNotAPerson(c)
	}
	text, err := s.cfg.Sealer.SealSession(Session{KeyID: c.KeyID, TenantID: c.TenantID, ExpiresAt: time.Now().Add(SessionTime)})
	return c, text, err
}

// SignInAs begins a session of a person whom an OpenID provider vouches for, and returns it as text for a
// cookie. No key ends it early, so until says when it ends; it lasts for SessionTime at most. Error:
// PersonRequired for an agent or a service.
func (s *Service) SignInAs(c Caller, until time.Time) (string, error) {
	if !c.isPerson() {
		return "", errNotAPerson(c)
	}
	if latest := time.Now().Add(SessionTime); until.After(latest) {
		until = latest
	}
	return s.cfg.Sealer.SealSession(Session{
		KeyID: c.KeyID, TenantID: c.TenantID, ExpiresAt: until, Kind: c.Kind, Scopes: c.Scopes,
	})
}

func errNotAPerson(c Caller) error {
	return &Error{Code: PersonRequired, Detail: fmt.Sprintf("The key is of kind %s, and only a person can sign in.", c.Kind)}
}

// Resume finds who is signed in. Error: Unauthenticated, the same whether the text is no session of
// ours, has expired, or its key was revoked or has expired.
func (s *Service) Resume(ctx context.Context, text string) (Caller, error) {
	session, err := s.cfg.Sealer.OpenSession(text)
	if err != nil {
		return Caller{}, err
	}
	if !time.Now().Before(session.ExpiresAt) {
		return Caller{}, errNoSession
	}
	if session.Kind != "" {
		return Caller{TenantID: session.TenantID, KeyID: session.KeyID, Kind: session.Kind, Scopes: session.Scopes}, nil
	}
	return s.callerOf(ctx, session)
}

// callerOf reads the session's key. It shares the cache of Authenticate: no ID is as long as a hash.
func (s *Service) callerOf(ctx context.Context, session Session) (Caller, error) {
	if c, ok := s.keys.get(session.KeyID); ok {
		return c, nil
	}
	generation := s.keys.begin()
	var c Caller
	var left *time.Duration
	err := s.pool.QueryRow(ctx, `
		SELECT id, tenant_id, kind, scopes, expires_at - clock_timestamp() FROM api_key
		WHERE id = $1 AND tenant_id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())`,
		session.KeyID, session.TenantID).Scan(&c.KeyID, &c.TenantID, &c.Kind, &c.Scopes, &left)
	if errors.Is(err, pgx.ErrNoRows) {
		return Caller{}, errNoSession
	}
	if err != nil {
		return Caller{}, fmt.Errorf("resume session: %w", err)
	}
	ttl := keyCacheTTL
	if left != nil {
		ttl = min(ttl, *left)
	}
	s.keys.put(session.KeyID, cachedKey{c, time.Now().Add(ttl)}, generation)
	return c, nil
}
