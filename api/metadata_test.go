package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/jobs"
)

func serveTest(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func TestResourceMetadata(t *testing.T) {
	t.Parallel()
	f, i, _ := newOIDC(t)
	const path = "/.well-known/oauth-protected-resource"
	for path, resource := range map[string]string{path: publicURL, path + "/mcp": publicURL + "/mcp"} {
		r := f.send(t, request{method: "GET", path: path, key: "-", header: map[string]string{"Origin": "https://client.example"}})
		wantStatus(t, r, http.StatusOK)
		want := map[string]any{
			"resource": resource, "resource_name": "provisiond", "resource_documentation": publicURL + "/docs",
			"authorization_servers":    []any{i.url},
			"bearer_methods_supported": []any{"header"},
			"scopes_supported":         anys(jobs.AllScopes()),
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(r.text), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		if h := r.Header; h.Get("Content-Type") != "application/json" || h.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: headers %v", path, h)
		}
		before := map[string]string{"Origin": "https://client.example", "Access-Control-Request-Headers": "mcp-protocol-version"}
		r = f.send(t, request{method: "OPTIONS", path: path, key: "-", header: before})
		if h := r.Header; r.StatusCode != http.StatusNoContent || h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Allow-Headers") != "*" {
			t.Errorf("OPTIONS %s: status %d, headers %v", path, r.StatusCode, h)
		}
		wantStatus(t, f.send(t, request{method: "HEAD", path: path, key: "-"}), http.StatusOK)
		wantProblem(t, f.send(t, request{method: "POST", path: path, key: "-"}), http.StatusMethodNotAllowed, "method_not_allowed")
	}
}

// A host learns from a 401 of /mcp where to sign its user in, and what to ask for.
func TestMCPChallenges(t *testing.T) {
	t.Parallel()
	f, i, key := newOIDC(t)
	const where = `scope="services:read instances:read instances:write jobs:read questions:answer", ` +
		`resource_metadata="` + publicURL + `/.well-known/oauth-protected-resource/mcp"`
	expired := key.sign(t, i.good().with(claims{"exp": 1}), nil)
	for _, tt := range []struct {
		name, token, challenge string
		status                 int
	}{
		{"no token", "-", `Bearer realm="provisiond", ` + where, http.StatusUnauthorized},
		{"bad token", expired, `Bearer realm="provisiond", error="invalid_token", ` + where, http.StatusUnauthorized},
		{"bad key", canary, `Bearer realm="provisiond", error="invalid_token", ` + where, http.StatusUnauthorized},
		{"token", key.sign(t, i.good(), nil), "", http.StatusOK},
		{"key", f.key, "", http.StatusOK},
	} {
		r := f.listTools(t, tt.token)
		if r.StatusCode != tt.status {
			t.Errorf("%s: status %d, want %d", tt.name, r.StatusCode, tt.status)
		}
		wantChallenge(t, r, tt.challenge)
	}
}

// What is away does not keep anyone from MCP: its tools say so.
func TestMCPWithTheIssuerAway(t *testing.T) {
	t.Parallel()
	f, i, key := newOIDC(t)
	i.fail(discoveryPath, http.StatusBadGateway)
	wantStatus(t, f.listTools(t, key.sign(t, i.good(), nil)), http.StatusOK)
}

func anys(texts []string) []any {
	values := make([]any, len(texts))
	for i, text := range texts {
		values[i] = text
	}
	return values
}
