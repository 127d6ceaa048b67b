package api_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/provisiond/provisiond/api"
	"github.com/provisiond/provisiond/jobs"
)

func TestAccessTokens(t *testing.T) {
	t.Parallel()
	f, key, curve := newFixture(t, driver{}), newRSA(t, "rsa"), newECDSA(t, "ec")
	i := newTestIssuer(t, key, curve)
	f.serveOIDC(t, api.OIDC{Issuer: i.url, Audiences: []string{"api://provisiond"}})
	nameless := signingKey{"", key.algorithm, key.private}
	now := time.Now()
	for _, tt := range []struct {
		name    string
		key     signingKey
		changes claims
	}{
		{"plain", key, nil},
		{"ES256", curve, nil},
		{"PS256", signingKey{"rsa", jose.PS256, key.private}, nil},
		{"no kid", nameless, nil},
		{"audience: the public URL", key, claims{"aud": publicURL}},
		{"audience: with a slash", key, claims{"aud": publicURL + "/"}},
		{"audience: configured", key, claims{"aud": "api://provisiond"}},
		{"audience: one of several", key, claims{"aud": []string{"other", publicURL + "/mcp"}}},
		{"tenant by ID", key, claims{"tenant": f.tenant.ID}},
		{"scp as a list", key, claims{"scope": nil, "scp": []string{"jobs:read"}}},
		{"scp as text", key, claims{"scope": nil, "scp": "jobs:read other"}},
		{"expired within the skew", key, claims{"exp": now.Add(-5 * time.Second).Unix()}},
		{"valid within the skew", key, claims{"nbf": now.Add(20 * time.Second).Unix(), "iat": now.Add(20 * time.Second).Unix()}},
		{"without nbf and iat", key, claims{"nbf": nil, "iat": nil}},
	} {
		if r := f.listJobs(t, tt.key.sign(t, i.good().with(tt.changes), nil)); r.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d: %s", tt.name, r.StatusCode, r.text)
		}
	}
	wantStatus(t, f.get(t, "/v1/jobs"), http.StatusOK) // a key
}

// Each bad token gets the same answer, and the log tells the operator which rule it breaks.
func TestBadAccessTokens(t *testing.T) {
	t.Parallel()
	f, i, key := newOIDC(t)
	stranger := newRSA(t, "stranger")
	under := signingKey{key.id, stranger.algorithm, stranger.private} // another key under a known ID
	der, err := x509.MarshalPKIXPublicKey(key.public().Key)
	if err != nil {
		t.Fatal(err)
	}
	shared := func(secret []byte) signingKey { return signingKey{key.id, jose.HS256, secret} }
	ownKey := stranger.public()
	hour := time.Hour
	const unsigned = "not signed with one of the issuer's keys"
	for _, tt := range []struct{ name, token, reason string }{
		{"no JWT", canary + ".e30.c2ln", unsigned},
		{"empty parts", "..", unsigned},
		{"alg none", unsignedToken(t, i.good(), "none", ""), unsigned},
		{"alg None", unsignedToken(t, i.good(), "None", ""), unsigned},
		{"alg none with the key's ID", unsignedToken(t, i.good(), "none", key.id), unsigned},
		{"no signature", unsignedToken(t, i.good(), "RS256", key.id), unsigned},
		{"HS256 with the public key as PEM", shared(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})).sign(t, i.good(), nil), unsigned},
		{"HS256 with the public key as DER", shared(der).sign(t, i.good(), nil), unsigned},
		{"ES256 under the ID of an RSA key", signingKey{key.id, jose.ES256, newECDSA(t, "").private}.sign(t, i.good(), nil), unsigned},
		{"unknown key", stranger.sign(t, i.good(), nil), unsigned},
		{"unknown key without an ID", signingKey{"", stranger.algorithm, stranger.private}.sign(t, i.good(), nil), unsigned},
		{"unknown key under a known ID", under.sign(t, i.good(), nil), unsigned},
		{"unknown key in its own header", stranger.sign(t, i.good(), map[jose.HeaderKey]any{"jwk": ownKey}), unsigned},
		{"unknown critical header", key.sign(t, i.good(), map[jose.HeaderKey]any{"crit": []string{"x"}, "x": 1}), unsigned},
		{"changed", changed(key.sign(t, i.good(), nil)), unsigned},
		{"other issuer", key.sign(t, i.good().with(claims{"iss": "https://evil.example"}), nil), "issuer claim"},
		{"no issuer", key.sign(t, i.good().with(claims{"iss": nil}), nil), "issuer claim"},
		{"issuer with a slash", key.sign(t, i.good().with(claims{"iss": i.url + "/"}), nil), "issuer claim"},
		{"other audience", key.sign(t, i.good().with(claims{"aud": "https://other.example/mcp"}), nil), "audience claim"},
		{"part of the audience", key.sign(t, i.good().with(claims{"aud": publicURL + "/mcp/x"}), nil), "audience claim"},
		{"no audience", key.sign(t, i.good().with(claims{"aud": nil}), nil), "audience claim"},
		{"expired", key.sign(t, i.good().with(claims{"exp": time.Now().Add(-31 * time.Second).Unix()}), nil), "token is expired"},
		{"no expiry", key.sign(t, i.good().with(claims{"exp": nil}), nil), "must have exp and sub"},
		{"not yet valid", key.sign(t, i.good().with(claims{"nbf": time.Now().Add(hour).Unix()}), nil), "token not valid yet"},
		{"issued in the future", key.sign(t, i.good().with(claims{"iat": time.Now().Add(hour).Unix()}), nil), "issued in the future"},
		{"no subject", key.sign(t, i.good().with(claims{"sub": nil}), nil), "must have exp and sub"},
		{"no tenant", key.sign(t, i.good().with(claims{"tenant": nil}), nil), "the claim tenant must be a tenant's name or ID"},
		{"tenant of another type", key.sign(t, i.good().with(claims{"tenant": 7}), nil), "the claim tenant must be a tenant's name or ID"},
		{"tenant with NUL", key.sign(t, i.good().with(claims{"tenant": "acme\x00"}), nil), "the claim tenant must be a tenant's name or ID"},
		{"unknown tenant", key.sign(t, i.good().with(claims{"tenant": "nobody"}), nil), "the claim tenant names no tenant"},
		{"unknown kind", key.sign(t, i.good().with(claims{"kind": "root"}), nil), "the claim kind must be"},
		{"kind of another type", key.sign(t, i.good().with(claims{"kind": true}), nil), "the claim kind must be"},
		{"expiry of another type", key.sign(t, i.good().with(claims{"exp": "soon"}), nil), unsigned},
	} {
		r := f.send(t, request{method: "GET", path: "/v1/jobs", key: tt.token, header: map[string]string{"X-Request-Id": "same"}})
		if r.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: status %d: %s", tt.name, r.StatusCode, r.text)
			continue
		}
		wantProblem(t, r, http.StatusUnauthorized, "unauthenticated")
		wantChallenge(t, r, `Bearer realm="provisiond", error="invalid_token", resource_metadata="`+publicURL+`/.well-known/oauth-protected-resource"`)
		logged := f.log.entries(t, http.StatusUnauthorized)
		if reason, _ := logged[len(logged)-1]["error"].(string); !strings.Contains(reason, tt.reason) {
			t.Errorf("%s: the log says %q, want %q", tt.name, reason, tt.reason)
		}
		if log := f.log.String(); strings.Contains(log, tt.token) || strings.Contains(log, subject) || strings.Contains(log, canary) {
			t.Errorf("%s: the token or what it says is in the log", tt.name)
		}
	}
	wantStatus(t, f.listJobs(t, key.sign(t, i.good(), nil)), http.StatusOK)
}

func TestAccessTokenWithoutAnIssuer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	key := newRSA(t, "one")
	r := f.listJobs(t, key.sign(t, newTestIssuer(t, key).good(), nil))
	wantProblem(t, r, http.StatusUnauthorized, "unauthenticated")
	wantChallenge(t, r, `Bearer realm="provisiond", error="invalid_token"`)
	wantStatus(t, f.send(t, request{method: "GET", path: "/.well-known/oauth-protected-resource", key: "-"}), http.StatusNotFound)
}

func TestAccessTokenWithoutTheScope(t *testing.T) {
	t.Parallel()
	f, i, key := newOIDC(t)
	for _, scope := range []any{nil, "", "openid", "jobs:readx jobs", "instances:write", 7} {
		r := f.listJobs(t, key.sign(t, i.good().with(claims{"scope": scope}), nil))
		wantProblem(t, r, http.StatusForbidden, "insufficient_scope")
		wantChallenge(t, r, `Bearer realm="provisiond", error="insufficient_scope", scope="jobs:read", resource_metadata="`+
			publicURL+`/.well-known/oauth-protected-resource"`)
	}
}

// Over MCP too a token without the scope is refused by 403, with the challenge that lets its host ask for one
// that has it; the result that the model sees is in it.
func TestAccessTokenWithoutTheScopeOverMCP(t *testing.T) {
	t.Parallel()
	f, i, key := newOIDC(t)
	token := key.sign(t, i.good().with(claims{"scope": "services:read"}), nil)
	const start = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":{%s}}}`
	for tool, args := range map[string]string{"list_jobs": "", "start_provision": `"service":"thing","plan":"plain"`} {
		r := f.send(t, request{method: "POST", path: "/mcp", key: token, header: speaksMCP, body: fmt.Sprintf(start, tool, args)})
		wantStatus(t, r, http.StatusForbidden)
		if got := r.Header.Get("WWW-Authenticate"); !strings.Contains(got, `error="insufficient_scope"`) || !strings.Contains(got, "resource_metadata=") {
			t.Errorf("%s: WWW-Authenticate %q", tool, got)
		}
		if !strings.Contains(r.text, `"isError":true`) {
			t.Errorf("%s: %s", tool, r.text)
		}
	}
	wantStatus(t, f.send(t, request{method: "POST", path: "/mcp", key: token, header: speaksMCP, body: fmt.Sprintf(start, "list_services", "")}), http.StatusOK)
}

// What only a person may answer takes a token that says so; the audit log names neither.
func TestAccessTokenOfAPerson(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	key := newRSA(t, "one")
	i := newTestIssuer(t, key)
	f.serveOIDC(t, api.OIDC{Issuer: i.url, TenantClaim: "https://acme.example/team", KindClaim: "who"})
	base := i.good().with(claims{"tenant": nil, "https://acme.example/team": "acme", "scope": strings.Join(jobs.AllScopes(), " ")})
	agent, person := key.sign(t, base, nil), key.sign(t, base.with(claims{"who": "person", "sub": "john@acme.example"}), nil)
	r := f.send(t, request{
		method: "POST", path: "/v1/instances", key: agent,
		body: `{"service": "thing", "plan": "region", "parameters": {"region": "eu"}}`,
	})
	wantStatus(t, r, http.StatusAccepted)
	var job api.Job
	r.json(t, &job)
	answer := request{
		method: "POST", path: "/v1/jobs/" + job.ID + "/questions/" + job.Questions[0].ID + "/answer",
		body: `{"action": "accept", "content": {"token": "12345678"}}`,
	}
	answer.key = agent
	wantProblem(t, f.send(t, answer), http.StatusForbidden, "person_required")
	answer.key = person
	wantStatus(t, f.send(t, answer), http.StatusOK)

	r = f.send(t, request{method: "GET", path: "/v1/jobs/" + job.ID + "/events", key: agent})
	var events struct{ Items []struct{ Actor string } }
	r.json(t, &events)
	actors := map[string]bool{}
	for _, e := range events.Items {
		actors[e.Actor] = true
	}
	if len(actors) != 2 || strings.Contains(r.text, "acme.example") || strings.Count(r.text, `"oidc:`) != len(events.Items) {
		t.Errorf("the history is %s", r.text)
	}
	if log := f.log.String(); strings.Contains(log, "acme.example") || !strings.Contains(log, `"key":"oidc:`) {
		t.Errorf("the log is %s", log)
	}
}

func TestRotatedKeys(t *testing.T) {
	t.Parallel()
	f, i, before := newOIDC(t)
	after := newRSA(t, "two")
	old := before.sign(t, i.good(), nil)
	wantStatus(t, f.listJobs(t, old), http.StatusOK)
	i.publish(before, after)
	wantStatus(t, f.listJobs(t, after.sign(t, i.good(), nil)), http.StatusOK)
	wantStatus(t, f.listJobs(t, old), http.StatusOK)
	if got := i.fetches(); got != 2 {
		t.Errorf("the keys were fetched %d times, want 2", got)
	}
}

// Tokens of keys that do not exist are no way to make this server attack the issuer.
func TestUnknownKeysDoNotFloodTheIssuer(t *testing.T) {
	t.Parallel()
	f, i, key := newOIDC(t)
	flood := newRSA(t, "none").sign(t, i.good(), nil)
	const tokens = 50
	for range tokens {
		wantStatus(t, f.listJobs(t, flood), http.StatusUnauthorized)
	}
	wantStatus(t, f.listJobs(t, key.sign(t, i.good(), nil)), http.StatusOK)
	if got := i.fetches(); got > tokens/5 {
		t.Errorf("the keys were fetched %d times for %d tokens", got, tokens)
	}
}

// The issuer may be away at the start and after: tokens then wait, keys do not.
func TestIssuerAway(t *testing.T) {
	t.Parallel()
	for _, path := range []string{discoveryPath, keysPath} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			f, i, key := newOIDC(t)
			i.fail(path, http.StatusBadGateway)
			token := key.sign(t, i.good(), nil)
			r := f.listJobs(t, token)
			if p := wantProblem(t, r, http.StatusServiceUnavailable, "unavailable"); !p.Retryable || r.Header.Get("Retry-After") != "5" {
				t.Errorf("got %s", r.text)
			}
			wantStatus(t, f.get(t, "/v1/jobs"), http.StatusOK)
			i.fail(path, 0)
			wantStatus(t, f.listJobs(t, token), http.StatusOK)
			i.fail(path, http.StatusBadGateway)
			wantStatus(t, f.listJobs(t, token), http.StatusOK)
		})
	}
}

// Whoever answers at the issuer's place must say that it is the issuer, and in JSON.
func TestNotTheIssuer(t *testing.T) {
	t.Parallel()
	key := newRSA(t, "one")
	i := newTestIssuer(t, key)
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>Sign in</html>")) })
	for name, url := range map[string]string{
		"a slash more": i.url + "/", "nobody there": "http://127.0.0.1:1", "a page": serveTest(t, page),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, driver{})
			f.serveOIDC(t, api.OIDC{Issuer: url})
			wantProblem(t, f.listJobs(t, key.sign(t, i.good(), nil)), http.StatusServiceUnavailable, "unavailable")
			wantStatus(t, f.get(t, "/v1/jobs"), http.StatusOK)
		})
	}
}

// unsignedToken makes a token with an empty signature.
func unsignedToken(t *testing.T, c claims, algorithm, keyID string) string {
	t.Helper()
	part := func(value any) string {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	header := map[string]string{"alg": algorithm, "typ": "at+jwt"}
	if keyID != "" {
		header["kid"] = keyID
	}
	return part(header) + "." + part(c) + "."
}

// changed gives a token other claims under its signature.
func changed(token string) string {
	parts := strings.Split(token, ".")
	payload, _ := base64.RawURLEncoding.DecodeString(parts[1])
	payload = []byte(strings.Replace(string(payload), `"acme"`, `"evil"`, 1))
	parts[1] = base64.RawURLEncoding.EncodeToString(payload)
	return strings.Join(parts, ".")
}
