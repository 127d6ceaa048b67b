package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/provisiond/provisiond/api"
)

const publicURL = "https://provisiond.example"

// claims of a token.
type claims map[string]any

// with is the claims with some of them changed; nil takes one away.
func (c claims) with(changes claims) claims {
	changed := claims{}
	for _, from := range []claims{c, changes} {
		for name, value := range from {
			changed[name] = value
			if value == nil {
				delete(changed, name)
			}
		}
	}
	return changed
}

// testIssuer is an issuer that signs what a real one would not.
type testIssuer struct {
	url string

	mu   sync.Mutex
	keys []jose.JSONWebKey
	// status is that of its answers, 0 for all well.
	status  map[string]int
	fetched int // how often the keys were
	// grant answers the token endpoint, where people's browsers are sent back with codes.
	grant http.HandlerFunc
}

const (
	discoveryPath = "/.well-known/openid-configuration"
	keysPath      = "/keys"
	tokenPath     = "/token"
)

func newTestIssuer(t *testing.T, keys ...signingKey) *testIssuer {
	t.Helper()
	i := &testIssuer{status: map[string]int{}}
	i.publish(keys...)
	server := httptest.NewServer(i)
	t.Cleanup(server.Close)
	i.url = server.URL
	return i
}

// publish makes these its keys.
func (i *testIssuer) publish(keys ...signingKey) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = nil
	for _, key := range keys {
		i.keys = append(i.keys, key.public())
	}
}

func (i *testIssuer) fail(path string, status int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.status[path] = status
}

func (i *testIssuer) fetches() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetched
}

func (i *testIssuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if status := i.status[r.URL.Path]; status != 0 {
		http.Error(w, "away", status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == tokenPath {
		i.grant(w, r)
		return
	}
	if r.URL.Path == keysPath {
		i.fetched++
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: i.keys})
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"issuer": i.url, "jwks_uri": i.url + keysPath, "authorization_endpoint": i.url + "/authorize", "token_endpoint": i.url + tokenPath,
	})
}

// good are the claims of a token that lets its caller do everything.
func (i *testIssuer) good() claims {
	now := time.Now()
	return claims{
		"iss": i.url, "sub": subject, "aud": publicURL + "/mcp", "tenant": "acme", "scope": "openid jobs:read instances:write",
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
}

// subject is what no log may hold.
const subject = "jane@acme.example"

type signingKey struct {
	id        string
	algorithm jose.SignatureAlgorithm
	private   any
}

func newRSA(t *testing.T, id string) signingKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return signingKey{id, jose.RS256, key}
}

func newECDSA(t *testing.T, id string) signingKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signingKey{id, jose.ES256, key}
}

func (k signingKey) public() jose.JSONWebKey {
	key := jose.JSONWebKey{Key: k.private, KeyID: k.id, Use: "sig"}
	return key.Public()
}

// sign makes a token. Extra is for its header.
func (k signingKey) sign(t *testing.T, c claims, extra map[jose.HeaderKey]any) string {
	t.Helper()
	options := (&jose.SignerOptions{ExtraHeaders: extra}).WithType("at+jwt")
	if k.id != "" {
		options.WithHeader("kid", k.id)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: k.algorithm, Key: k.private}, options)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(map[string]any(c)).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// serveOIDC puts a server with that issuer in the place of the fixture's own.
func (f *fixture) serveOIDC(t *testing.T, o api.OIDC) {
	t.Helper()
	c := f.config()
	c.OIDC = &o
	c.MCP = facade(t)
	h, err := api.New(c)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	f.url = server.URL
}

// newOIDC is a fixture with an issuer of one key.
func newOIDC(t *testing.T) (*fixture, *testIssuer, signingKey) {
	t.Helper()
	f, key := newFixture(t, driver{}), newRSA(t, "one")
	i := newTestIssuer(t, key)
	f.serveOIDC(t, api.OIDC{Issuer: i.url})
	return f, i, key
}

// listJobs is a call that needs the scope jobs:read.
func (f *fixture) listJobs(t *testing.T, token string) response {
	t.Helper()
	return f.send(t, request{method: "GET", path: "/v1/jobs", key: token})
}

func wantChallenge(t *testing.T, r response, want string) {
	t.Helper()
	if got := r.Header.Get("WWW-Authenticate"); got != want {
		t.Errorf("WWW-Authenticate is\n%s, want\n%s", got, want)
	}
}
