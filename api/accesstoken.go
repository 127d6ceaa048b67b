package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/provisiond/provisiond/jobs"
)

// OIDC says whose access tokens let callers in, besides API keys: those of one OpenID provider, as
// JSON Web Tokens (RFC 9068). With a client, people sign in to the pages there, too.
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
	// ClientID is the client that the provider knows the pages by; "" where people sign in with their
	// keys alone.
	ClientID string
	// ClientSecret is the client's; "" for a public client, which PKCE alone protects.
	ClientSecret string
}

// clockSkew is how far the issuer's clock may be off.
const clockSkew = 30 * time.Second

// accessTokens makes callers of access tokens. Safe for concurrent use.
type accessTokens struct {
	issuer    *issuer
	audiences jwt.Audience
	claims    claimNames
}

// newAccessTokens makes no connection.
func newAccessTokens(c OIDC, publicURL string, service *jobs.Service) (*accessTokens, error) {
	if u, err := url.Parse(c.Issuer); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("the issuer must be like https://host")
	}
	return &accessTokens{
		issuer: newIssuer(c.Issuer),
		// Many clients write the URL of a host alone with a slash.
		audiences: append(jwt.Audience{publicURL, publicURL + "/", publicURL + mcpPath}, c.Audiences...),
		claims:    claimNames{service: service, tenant: cmp.Or(c.TenantClaim, "tenant"), kind: cmp.Or(c.KindClaim, "kind")},
	}, nil
}

// isJWT tells a token from an API key, which has no dots.
func isJWT(token string) bool { return strings.Count(token, ".") == 2 }

// caller finds who a token speaks for. Errors: Unauthenticated, the same for each rule that a token
// can break, which only the log tells; Unavailable.
func (a *accessTokens) caller(ctx context.Context, token string) (jobs.Caller, error) {
	registered, claims, err := a.issuer.claims(ctx, token)
	if err != nil {
		return jobs.Caller{}, err
	}
	if err := a.check(registered); err != nil {
		return jobs.Caller{}, err
	}
	caller, err := a.claims.caller(ctx, registered, claims)
	caller.Scopes = scopesOf(claims)
	return caller, err
}

// check checks who issued the token, for whom, about whom, and when (RFC 9068, section 4).
func (a *accessTokens) check(c jwt.Claims) error { return checkClaims(c, a.issuer.url, a.audiences) }

// tokenRefused is the one answer to all bad tokens. The reason, which is for the log, holds nothing
// of the token.
func tokenRefused(reason string) error {
	return &jobs.Error{
		Code: jobs.Unauthenticated, Detail: "A valid access token is needed, for this server and from its issuer.",
		Cause: fmt.Errorf("token: %s", reason),
	}
}
