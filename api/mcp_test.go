package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/provisiond/provisiond/api"
	"github.com/provisiond/provisiond/mcpfacade"
)

// What is mounted at /mcp calls the API in-process with the caller's credentials, and gets bodies up
// to the limit only.
func TestMCPIsMounted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	h, err := api.New(api.Config{
		Service: f.Service, PublicURL: "https://provisiond.example",
		MCP: func(inner http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, err := io.ReadAll(r.Body); err != nil {
					http.Error(w, "cut", http.StatusRequestEntityTooLarge)
					return
				}
				res := call(r.Context(), inner, http.MethodGet, "/v1/jobs", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
				w.WriteHeader(res.StatusCode)
			})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, key string
		body      io.Reader
		status    int
	}{
		{"key", f.key, nil, http.StatusOK},
		{"no key", "", nil, http.StatusUnauthorized},
		{"too large", f.key, strings.NewReader(strings.Repeat("a", 1<<20+1)), http.StatusRequestEntityTooLarge},
		{"too large, chunked", f.key, io.LimitReader(strings.NewReader(strings.Repeat("a", 1<<21)), 1<<21), http.StatusRequestEntityTooLarge},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", tt.body)
		r.Header.Set("Authorization", "Bearer "+tt.key)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tt.status {
			t.Errorf("%s: status %d, want %d", tt.name, w.Code, tt.status)
		}
	}
}

// A bad key is refused like none: by JSON-RPC, with the ID of the call and a challenge.
func TestMCPRefusesInItsOwnForm(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	c := f.config()
	c.MCP = facade(t)
	h, err := api.New(c)
	if err != nil {
		t.Fatal(err)
	}
	f.url = serveTest(t, h)
	for _, tt := range []struct{ name, key, challenge string }{
		{"no key", "-", `Bearer realm="provisiond"`},
		{"bad key", canary, `Bearer realm="provisiond", error="invalid_token"`},
	} {
		r := f.send(t, request{method: "POST", path: "/mcp", key: tt.key, body: `{"jsonrpc":"2.0","id":"c 7","method":"tools/list"}`})
		wantStatus(t, r, http.StatusUnauthorized)
		wantChallenge(t, r, tt.challenge)
		if !strings.HasPrefix(r.text, `{"error":{"code":-32600,`) || !strings.Contains(r.text, `"id":"c 7"`) || strings.Contains(r.text, canary) {
			t.Errorf("%s: %s", tt.name, r.text)
		}
	}
}

// facade is the real one, before the API.
func facade(t *testing.T) func(http.Handler) http.Handler {
	t.Helper()
	return func(inner http.Handler) http.Handler {
		h, err := mcpfacade.New(mcpfacade.Config{API: inner, AllowedHosts: []string{"*"}})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
}

// speaksMCP are the headers that Streamable HTTP wants.
var speaksMCP = map[string]string{"Accept": "application/json, text/event-stream"}

func (f *fixture) listTools(t *testing.T, key string) response {
	t.Helper()
	return f.send(t, request{method: "POST", path: "/mcp", key: key, header: speaksMCP, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`})
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	for _, c := range []api.Config{
		{PublicURL: "https://x"},
		{Service: f.Service},
		{Service: f.Service, PublicURL: "example.com"},
		{Service: f.Service, PublicURL: "ftp://x"},
		{Service: f.Service, PublicURL: "https://x/provisiond"},
	} {
		if _, err := api.New(c); err == nil {
			t.Errorf("%q: no error", c.PublicURL)
		}
	}
}
