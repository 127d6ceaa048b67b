package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/oauth2"

	"github.com/provisiond/provisiond/jobs"
)

// gate signs people in at the issuer: the authorization code flow of OpenID Connect Core 1.0 with PKCE.
// It keeps nothing between requests. Safe for concurrent use.
type gate struct {
	issuer *issuer
	claims claimNames
	// client has no endpoints: they are found when they are needed.
	client oauth2.Config
	http   *http.Client
	// host is the issuer's name for people.
	host string
}

// exchangeTime bounds the exchange of a code, for which a person waits.
const exchangeTime = 10 * time.Second

// newGate is nil where people sign in with their keys alone.
func newGate(c OIDC, publicURL string, tokens *accessTokens) *gate {
	if c.ClientID == "" {
		return nil
	}
	host := c.Issuer
	if u, err := url.Parse(c.Issuer); err == nil {
		host = u.Host
	}
	return &gate{
		issuer: tokens.issuer,
		claims: tokens.claims,
		client: oauth2.Config{
			ClientID: c.ClientID, ClientSecret: c.ClientSecret,
			RedirectURL: publicURL + callbackPath, Scopes: []string{oidc.ScopeOpenID},
		},
		http: &http.Client{Timeout: exchangeTime, CheckRedirect: stay},
		host: host,
	}
}

// stay follows no redirect, which could take the code and the secret elsewhere.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// refusedSignIn is why a sign-in at the issuer failed, in words for the person; the cause is for the log.
type refusedSignIn struct {
	status int
	text   string
	cause  error
}

// Error implements error.
func (e *refusedSignIn) Error() string { return e.text }

// authorization is the URL at the issuer where the flow goes on. Error: a *refusedSignIn.
func (g *gate) authorization(flow jobs.Flow) (string, error) {
	client, err := g.config()
	if err != nil {
		return "", err
	}
	return client.AuthCodeURL(flow.State, oidc.Nonce(flow.Nonce), oauth2.S256ChallengeOption(flow.Verifier)), nil
}

// config is the client with the issuer's endpoints. Error: a *refusedSignIn.
func (g *gate) config() (*oauth2.Config, error) {
	found, err := g.issuer.endpoints()
	if err != nil {
		return nil, g.away(err)
	}
	if found.AuthURL == "" || found.TokenURL == "" {
		return nil, g.misconfigured(errors.New("its metadata has no authorization_endpoint or no token_endpoint"))
	}
	client := g.client
	client.Endpoint = oauth2.Endpoint{AuthURL: found.AuthURL, TokenURL: found.TokenURL, AuthStyle: g.authStyle(found.AuthMethods)}
	return &client, nil
}

// authStyle is how the client says who it is. Without metadata it is client_secret_basic.
func (g *gate) authStyle(methods []string) oauth2.AuthStyle {
	if g.client.ClientSecret != "" && (len(methods) == 0 || slices.Contains(methods, "client_secret_basic")) {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

// enter finds who came back with the code, and when that person's session ends. Errors: a
// *refusedSignIn, or one of the core.
func (g *gate) enter(ctx context.Context, flow jobs.Flow, code string) (jobs.Caller, time.Time, error) {
	token, err := g.exchange(ctx, flow, code)
	if err != nil {
		return jobs.Caller{}, time.Time{}, err
	}
	registered, claims, err := g.verify(ctx, flow, token)
	if err != nil {
		return jobs.Caller{}, time.Time{}, err
	}
	caller, err := g.claims.caller(ctx, registered, claims)
	if errors.Is(err, jobs.Unauthenticated) {
		return jobs.Caller{}, time.Time{}, &refusedSignIn{http.StatusForbidden,
			g.host + " signed you in, but it does not say which tenant you belong to here. Ask your operator for access.", err}
	}
	caller.Scopes = pageScopes(claims)
	return caller, sessionEnd(registered.Expiry.Time()), err
}

// exchange makes an ID token of the code (OpenID Connect Core 1.0, section 3.1.3). Error: a
// *refusedSignIn.
func (g *gate) exchange(ctx context.Context, flow jobs.Flow, code string) (string, error) {
	client, err := g.config()
	if err != nil {
		return "", err
	}
	token, err := client.Exchange(context.WithValue(ctx, oauth2.HTTPClient, g.http), code, oauth2.VerifierOption(flow.Verifier))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return "", g.refusedCode(refused)
	}
	if err != nil {
		return "", g.away(fmt.Errorf("issuer: %w", err))
	}
	text, _ := token.Extra("id_token").(string)
	if text == "" {
		return "", g.misconfigured(errors.New("it gives no ID token"))
	}
	return text, nil
}

// refusedCode leaves the issuer's own text out of the log: it may hold the code.
func (g *gate) refusedCode(e *oauth2.RetrieveError) error {
	cause := fmt.Errorf("the token endpoint answers %d %s", e.Response.StatusCode, e.ErrorCode)
	switch {
	case e.ErrorCode == "invalid_grant":
		return &refusedSignIn{http.StatusBadRequest, "This sign-in is done already or took too long. Begin again.", cause}
	case e.Response.StatusCode >= http.StatusInternalServerError:
		return g.away(cause)
	default:
		return g.misconfigured(cause)
	}
}

// verify checks an ID token (OpenID Connect Core 1.0, section 3.1.3.7). Errors: a *refusedSignIn.
func (g *gate) verify(ctx context.Context, flow jobs.Flow, token string) (jwt.Claims, map[string]any, error) {
	registered, claims, err := g.issuer.claims(ctx, token)
	if errors.Is(err, jobs.Unavailable) {
		return jwt.Claims{}, nil, g.away(err)
	}
	if err == nil {
		err = checkClaims(registered, g.issuer.url, jwt.Audience{g.client.ClientID})
	}
	if err == nil && claims["nonce"] != flow.Nonce {
		err = tokenRefused("its nonce is not that of the flow")
	}
	// Of several audiences, the one that the token was issued to.
	if azp, ok := claims["azp"]; err == nil && azp != g.client.ClientID && (ok || len(registered.Audience) > 1) {
		err = tokenRefused("it was issued to another client")
	}
	if err != nil {
		return jwt.Claims{}, nil, &refusedSignIn{http.StatusForbidden,
			"What " + g.host + " says of you is not valid here. Begin again; if that does not help, tell your operator.", err}
	}
	return registered, claims, nil
}

func (g *gate) away(cause error) error {
	return &refusedSignIn{http.StatusServiceUnavailable, g.host + " does not answer just now. Try again in a moment.", cause}
}

func (g *gate) misconfigured(cause error) error {
	return &refusedSignIn{
		http.StatusServiceUnavailable, "Signing in with " + g.host + " is not set up as it should be. Tell your operator.",
		fmt.Errorf("issuer: %w", cause),
	}
}

// declined is what the issuer answers in place of a code (RFC 6749, section 4.1.2.1).
func (g *gate) declined(code string) error {
	cause := fmt.Errorf("the issuer answers %.40q", code)
	switch code {
	case "access_denied":
		return &refusedSignIn{http.StatusForbidden, g.host + " did not let you in, or you changed your mind.", cause}
	case "server_error", "temporarily_unavailable":
		return g.away(cause)
	default:
		return g.misconfigured(cause)
	}
}

// pageScopes are what the pages need, or less where the token lists scopes. Few ID tokens do: they say
// who somebody is.
func pageScopes(claims map[string]any) []string {
	needed := []string{jobs.ScopeJobsRead, jobs.ScopeQuestionsAnswer}
	if claims["scope"] == nil && claims["scp"] == nil {
		return needed
	}
	granted := scopesOf(claims)
	return slices.DeleteFunc(needed, func(scope string) bool { return !slices.Contains(granted, scope) })
}

// shortestSession is for ID tokens of a few minutes, which are made to be read once: a person needs
// longer for a form.
const shortestSession = time.Hour

// sessionEnd is when the ID token ends, as nothing can withdraw it, but not within shortestSession.
func sessionEnd(expiry time.Time) time.Time {
	earliest := time.Now().Add(shortestSession)
	if expiry.Before(earliest) {
		return earliest
	}
	return expiry
}

// isSubject tells who was signed in by the issuer from who gave a key.
func isSubject(c jobs.Caller) bool { return strings.HasPrefix(c.KeyID, subjectPrefix) }
