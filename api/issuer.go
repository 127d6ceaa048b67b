package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/provisiond/provisiond/jobs"
)

// keysLife is how long the issuer's keys are trusted without asking again, and so how long one that it
// has withdrawn goes on. An outage as long as that keeps tokens out; few of them outlive it.
const keysLife = 30 * time.Minute

// signatures are the algorithms of public keys. The others, none and HS*, would let anyone sign: the
// secret of HS256 would be a key that is public.
var signatures = &oidc.Config{
	SupportedSigningAlgs: []string{
		oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512,
		oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
	},
	// accessTokens checks these: for an access token they are other rules than for an ID token.
	SkipClientIDCheck: true, SkipExpiryCheck: true, SkipIssuerCheck: true,
}

// issuer is an OpenID provider, known by its URL alone until the first token comes: that it is away at
// the start stops nobody with an API key. Safe for concurrent use.
type issuer struct {
	url    string
	client *http.Client

	mu    sync.Mutex
	found metadata
	keys  *oidc.RemoteKeySet // nil until it was found
	until time.Time
}

func newIssuer(url string) *issuer {
	return &issuer{url: url, client: &http.Client{Transport: newFetcher()}}
}

// verify returns what a token says if one of the issuer's keys signed it. Nothing else is checked.
// Errors: Unauthenticated, Unavailable.
func (i *issuer) verify(ctx context.Context, token string) (*oidc.IDToken, error) {
	keys, err := i.keySet()
	if err != nil {
		return nil, issuerAway(err)
	}
	try := &keySetTry{RemoteKeySet: keys}
	verified, err := oidc.NewVerifier(i.url, try, signatures).Verify(ctx, token)
	if err == nil {
		return verified, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if away, ok := errors.AsType[*fetchError](try.err); ok {
		return nil, issuerAway(away)
	}
	return nil, tokenRefused("it is malformed or was not signed with one of the issuer's keys")
}

// claims returns the claims of a token that verify lets pass.
func (i *issuer) claims(ctx context.Context, token string) (registered jwt.Claims, all map[string]any, err error) {
	verified, err := i.verify(ctx, token)
	if err != nil {
		return jwt.Claims{}, nil, err
	}
	if verified.Claims(&registered) != nil || verified.Claims(&all) != nil {
		return jwt.Claims{}, nil, tokenRefused("a claim is not of its type")
	}
	return registered, all, nil
}

// metadata is what the issuer says of itself, as far as it is needed.
type metadata struct {
	KeysURL string `json:"jwks_uri"`
	AuthURL string `json:"authorization_endpoint"`
	// TokenURL is where codes become tokens, and AuthMethods how a client says there who it is.
	TokenURL    string   `json:"token_endpoint"`
	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
}

func (i *issuer) keySet() (*oidc.RemoteKeySet, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.discover(); err != nil {
		return nil, err
	}
	return i.keys, nil
}

// endpoints finds where people sign in. Error: Unavailable.
func (i *issuer) endpoints() (metadata, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.discover(); err != nil {
		return metadata{}, issuerAway(err)
	}
	return i.found, nil
}

// discover finds the issuer's metadata (OpenID Connect Discovery 1.0), with the lock held. The keys
// themselves are fetched by the first token, and again when one names a key that is not known.
func (i *issuer) discover() error {
	if i.keys != nil && time.Now().Before(i.until) {
		return nil
	}
	// Not the request's context: what is found is for all, and its client may go away.
	ctx := oidc.ClientContext(context.Background(), i.client)
	provider, err := oidc.NewProvider(ctx, i.url)
	if err != nil {
		return err
	}
	var found metadata
	if err := provider.Claims(&found); err != nil {
		return err
	}
	i.found, i.keys, i.until = found, oidc.NewRemoteKeySet(ctx, found.KeysURL), time.Now().Add(keysLife)
	return nil
}

// keySetTry keeps the error of a key set, which the verifier passes on as text only: that the issuer is
// away is not the token's fault.
type keySetTry struct {
	*oidc.RemoteKeySet

	err error
}

// VerifySignature implements [oidc.KeySet].
func (k *keySetTry) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.RemoteKeySet.VerifySignature(ctx, token)
	k.err = err
	return payload, err
}

func issuerAway(cause error) error {
	return &jobs.Error{
		Code: jobs.Unavailable, Detail: "The issuer of access tokens does not answer; try again.",
		RetryAfter: fetchPause, Cause: fmt.Errorf("issuer: %w", cause),
	}
}
