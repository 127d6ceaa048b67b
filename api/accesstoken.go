package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/provisiond/provisiond/jobs"
)

// OIDC says whose access tokens let callers in, besides API keys: those of one OpenID provider, as
// JSON Web Tokens (RFC 9068).
type OIDC struct {
	// Issuer is the provider's URL, exactly as its tokens name it.
	Issuer string
	// Audiences are accepted besides the public URL and its /mcp, for providers that do not take the
	// audience from the client (RFC 8707).
	Audiences []string
	// TenantClaim names the claim that holds the tenant's name or ID; "tenant" if empty.
	TenantClaim string
	// KindClaim names the claim that holds the kind of caller, a [jobs.KeyKind]; "kind" if empty. A
	// token without the claim is an agent's.
	KindClaim string
}

// clockSkew is how far the issuer's clock may be off.
const clockSkew = 30 * time.Second

// accessTokens makes callers of access tokens. Safe for concurrent use.
type accessTokens struct {
	service                *jobs.Service
	issuer                 *issuer
	audiences              jwt.Audience
	tenantClaim, kindClaim string
}

// newAccessTokens makes no connection.
func newAccessTokens(c OIDC, publicURL string, service *jobs.Service) (*accessTokens, error) {
	if u, err := url.Parse(c.Issuer); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("the issuer must be like https://host")
	}
	return &accessTokens{
		service: service,
		issuer:  newIssuer(c.Issuer),
		// Many clients write the URL of a host alone with a slash.
		audiences:   append(jwt.Audience{publicURL, publicURL + "/", publicURL + mcpPath}, c.Audiences...),
		tenantClaim: cmp.Or(c.TenantClaim, "tenant"),
		kindClaim:   cmp.Or(c.KindClaim, "kind"),
	}, nil
}

// isJWT tells a token from an API key, which has no dots.
func isJWT(token string) bool { return strings.Count(token, ".") == 2 }

// caller finds who a token speaks for. Errors: Unauthenticated, the same for each rule that a token
// can break, which only the log tells; Unavailable.
func (a *accessTokens) caller(ctx context.Context, token string) (jobs.Caller, error) {
	verified, err := a.issuer.verify(ctx, token)
	if err != nil {
		return jobs.Caller{}, err
	}
	var registered jwt.Claims
	var claims map[string]any
	if verified.Claims(&registered) != nil || verified.Claims(&claims) != nil {
		return jobs.Caller{}, tokenRefused("a claim is not of its type")
	}
	if err := a.check(registered); err != nil {
		return jobs.Caller{}, err
	}
	kind, err := a.kind(claims)
	if err != nil {
		return jobs.Caller{}, err
	}
	tenantID, err := a.tenantID(ctx, claims)
	if err != nil {
		return jobs.Caller{}, err
	}
	return jobs.Caller{TenantID: tenantID, KeyID: pseudonym(registered), Kind: kind, Scopes: scopesOf(claims)}, nil
}

// check checks who issued the token, for whom, about whom, and when (RFC 9068, section 4).
func (a *accessTokens) check(c jwt.Claims) error {
	if c.Expiry == nil || c.Subject == "" {
		return tokenRefused("it must have exp and sub")
	}
	expected := jwt.Expected{Issuer: a.issuer.url, AnyAudience: a.audiences, Time: time.Now()}
	if err := c.ValidateWithLeeway(expected, clockSkew); err != nil {
		return tokenRefused(err.Error()) // a fixed text for each rule
	}
	return nil
}

func (a *accessTokens) kind(claims map[string]any) (jobs.KeyKind, error) {
	value, ok := claims[a.kindClaim]
	if !ok {
		return jobs.KindAgent, nil
	}
	text, _ := value.(string)
	kind := jobs.KeyKind(text)
	if !slices.Contains([]jobs.KeyKind{jobs.KindAgent, jobs.KindPerson, jobs.KindService, jobs.KindAdmin}, kind) {
		return "", tokenRefused("the claim " + a.kindClaim + " must be agent, person, service or admin")
	}
	return kind, nil
}

func (a *accessTokens) tenantID(ctx context.Context, claims map[string]any) (string, error) {
	name, _ := claims[a.tenantClaim].(string)
	if name == "" || strings.ContainsRune(name, 0) { // which PostgreSQL cannot look up
		return "", tokenRefused("the claim " + a.tenantClaim + " must be a tenant's name or ID")
	}
	id, err := a.service.TenantID(ctx, name)
	if errors.Is(err, jobs.NotFound) {
		return "", tokenRefused("the claim " + a.tenantClaim + " names no tenant")
	}
	return id, err
}

// scopesOf reads the scopes that are ours: of scope, separated by spaces (RFC 8693, section 4.2), or
// else of scp, as some providers call it. Both are seen as lists, too.
func scopesOf(claims map[string]any) []string {
	value, ok := claims["scope"]
	if !ok {
		value = claims["scp"]
	}
	var granted []string
	switch value := value.(type) {
	case string:
		granted = strings.Fields(value)
	case []any:
		for _, item := range value {
			text, _ := item.(string)
			granted = append(granted, text)
		}
	}
	return slices.DeleteFunc(jobs.AllScopes(), func(scope string) bool { return !slices.Contains(granted, scope) })
}

// pseudonym stands for the caller in the audit log, as a key's ID does. It tells callers apart without
// naming them: a subject may be an e-mail address.
func pseudonym(c jwt.Claims) string {
	digest := sha256.Sum256([]byte(c.Issuer + "|" + c.Subject))
	return "oidc:" + hex.EncodeToString(digest[:16])
}

// tokenRefused is the one answer to all bad tokens. The reason, which is for the log, holds nothing
// of the token.
func tokenRefused(reason string) error {
	return &jobs.Error{
		Code: jobs.Unauthenticated, Detail: "A valid access token is needed, for this server and from its issuer.",
		Cause: fmt.Errorf("access token: %s", reason),
	}
}
