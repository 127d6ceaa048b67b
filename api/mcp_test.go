package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/provisiond/provisiond/api"
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

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	for _, c := range []api.Config{
		{PublicURL: "https://x"},
		{Service: f.Service},
		{Service: f.Service, PublicURL: "example.com"},
		{Service: f.Service, PublicURL: "ftp://x"},
	} {
		if _, err := api.New(c); err == nil {
			t.Errorf("%q: no error", c.PublicURL)
		}
	}
}
