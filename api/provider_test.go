package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/provisiond/provisiond/api"
)

// providerStorage is the example storage of zitadel's OpenID provider, with JWTs for access tokens, an
// audience and the claims that provisiond wants.
type providerStorage struct {
	*storage.Storage

	tenant string
}

// jwtClient gets JWTs.
type jwtClient struct{ op.Client }

func (jwtClient) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeJWT }

func (s providerStorage) ClientCredentials(ctx context.Context, id, secret string) (op.Client, error) {
	client, err := s.Storage.ClientCredentials(ctx, id, secret)
	return jwtClient{client}, err
}

func (s providerStorage) ClientCredentialsTokenRequest(_ context.Context, id string, scopes []string) (op.TokenRequest, error) {
	return &oidc.JWTTokenRequest{Subject: id, Audience: []string{publicURL + "/mcp"}, Scopes: scopes}, nil
}

func (s providerStorage) GetPrivateClaimsFromScopes(_ context.Context, _, _ string, scopes []string) (map[string]any, error) {
	return map[string]any{"tenant": s.tenant, "kind": "service", "scope": strings.Join(scopes, " ")}, nil
}

// SetUserinfoFromRequest adds to the ID token what provisiond wants to know of a person.
func (s providerStorage) SetUserinfoFromRequest(ctx context.Context, info *oidc.UserInfo, r op.IDTokenRequest, scopes []string) error {
	info.AppendClaims("tenant", s.tenant)
	info.AppendClaims("kind", "person")
	return s.Storage.SetUserinfoFromRequest(ctx, info, r, scopes)
}

// The client that the provider knows the pages by.
const (
	clientID     = "pages"
	clientSecret = "secret-of-the-pages-51c0"
)

// newProvider runs an OpenID provider and returns its URL. Whoever comes to sign in is let in at once,
// and led back to one of the redirect URIs.
func newProvider(t *testing.T, tenant string, redirectURIs ...string) string {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	issuer := "http://" + server.Listener.Addr().String()
	clients := map[string]*storage.Client{clientID: storage.WebClient(clientID, clientSecret, redirectURIs...)}
	store := providerStorage{storage.NewStorageWithClients(storage.NewUserStore(issuer), clients), tenant}
	provider, err := op.NewProvider(
		&op.Config{CryptoKey: [32]byte{1}, CodeMethodS256: true, SupportedScopes: []string{"openid"}},
		store,
		op.StaticIssuer(issuer), op.WithAllowInsecure())
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", provider)
	mux.Handle("/login/username", op.NewIssuerInterceptor(provider.IssuerFromRequest).HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.FormValue("authRequestID")
		if err := store.CheckUsernamePassword("test-user2", "verysecure", id); err != nil {
			t.Error(err)
		}
		http.Redirect(w, r, op.AuthCallbackURL(provider)(r.Context(), id), http.StatusFound)
	}))
	server.Config.Handler = mux
	server.Start()
	t.Cleanup(server.Close)
	return issuer
}

// clientCredentials gets an access token as a service does (RFC 6749, section 4.4).
func clientCredentials(t *testing.T, issuer, scope string) string {
	t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {scope}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, issuer+"/oauth/token", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth("sid1", "verysecret")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer oidc.AccessTokenResponse
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", res.StatusCode, err)
	}
	return answer.AccessToken
}

// A client comes without a token, finds the provider, gets a token of it, and comes again.
func TestOpenIDProvider(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	f.serveOIDC(t, api.OIDC{Issuer: newProvider(t, "acme")})
	r := f.send(t, request{method: "POST", path: "/mcp", key: "-", body: "{}"})
	wantStatus(t, r, http.StatusUnauthorized)
	_, after, _ := strings.Cut(r.Header.Get("WWW-Authenticate"), `resource_metadata="`+publicURL)
	path, _, _ := strings.Cut(after, `"`)
	var metadata struct {
		Servers []string `json:"authorization_servers"`
		Scopes  []string `json:"scopes_supported"`
	}
	f.send(t, request{method: "GET", path: path, key: "-"}).json(t, &metadata)
	token := clientCredentials(t, metadata.Servers[0], strings.Join(metadata.Scopes, " "))
	wantStatus(t, f.listTools(t, token), http.StatusOK)
	wantStatus(t, f.send(t, request{
		method: "POST", path: "/v1/instances", key: token, body: `{"service": "thing", "plan": "plain"}`,
	}), http.StatusAccepted)

	reading := clientCredentials(t, metadata.Servers[0], "jobs:read")
	wantStatus(t, f.listJobs(t, reading), http.StatusOK)
	wantProblem(t, f.send(t, request{
		method: "POST", path: "/v1/instances", key: reading, body: `{"service": "thing", "plan": "plain"}`,
	}), http.StatusForbidden, "insufficient_scope")
}

// Two providers know each other's tokens by their issuer and keys alone.
func TestTokenOfAnotherProvider(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	f.serveOIDC(t, api.OIDC{Issuer: newProvider(t, "acme")})
	token := clientCredentials(t, newProvider(t, "acme"), "jobs:read")
	wantProblem(t, f.listJobs(t, token), http.StatusUnauthorized, "unauthenticated")
}
