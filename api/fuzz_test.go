package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/provisiond/provisiond/api"
)

// No request, whatever it holds, is answered with a 5xx, and every error is a problem+json.
func FuzzHTTP(f *testing.F) {
	fx := newFixture(f, driver{})
	h := fx.handler(f)
	const id = "_01h455vb4pex5vsknk084sn02q"
	for _, seed := range []struct{ method, path, query, header, body string }{
		{"GET", "/v1/services", "limit=1&cursor=AAAA", "If-None-Match: \"a\", W/\"b\"", ""},
		{"GET", "/v1/jobs/job" + id, "", "Prefer: handling=strict", ""},
		{"GET", "/v1/jobs", "label=a%3Db&state=pending", "", ""},
		{"GET", "/v1/instances", "name=a&label=a%3D%00", "", ""},
		{"POST", "/v1/instances", "", "Idempotency-Key: k", `{"service":"thing","plan":"region","parameters":{"size":2},"answers":{"region":"eu"},"labels":{"a":"b"}}`},
		{"POST", "/v1/instances", "", "", `{"service":"thing","plan":"paid","validate_only":true}`},
		{"DELETE", "/v1/instances/inst" + id, "validate_only=true", "Idempotency-Key: k", ""},
		{"PATCH", "/v1/instances/inst" + id, "", "If-Match: W/\"1\"", `{"plan":"large","parameters":{"size":null},"expires_in":null,"labels":{}}`},
		{"POST", "/v1/instances/inst" + id + "/bindings", "", "", `{"name":"a","expires_in":60}`},
		{"POST", "/v1/bindings/bind" + id + "/rotate", "", "", `{"overlap":0}`},
		{"POST", "/v1/jobs/job" + id + "/questions/qst" + id + "/answer", "", "", `{"action":"accept","content":{"a":1}}`},
		{"GET", "/v1/bindings/bind" + id + "/credentials", "", "", ""},
		{"GET", "/v1/jobs/%2f..%2f", "", "", ""},
		{"HEAD", "/docs/swagger-ui.css", "", "Accept-Encoding: gzip", ""},
		{"OPTIONS", "/v1/jobs", "", "", ""},
	} {
		f.Add(seed.method, seed.path, seed.query, seed.header, seed.body, true)
		f.Add(seed.method, seed.path, seed.query, seed.header, seed.body, false)
	}
	f.Fuzz(func(t *testing.T, method, path, query, header, body string, withKey bool) {
		u, err := url.ParseRequestURI(path)
		if err != nil || !strings.HasPrefix(path, "/") || strings.Contains(strings.ToLower(query+header), "wait") {
			return // net/http refuses it, or it would only wait
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", strings.NewReader(body))
		u.RawQuery = query
		r.Method, r.URL = method, u
		r.Header.Set("Content-Type", "application/json")
		if name, value, ok := strings.Cut(header, ":"); ok {
			r.Header.Set(name, strings.TrimSpace(value))
		}
		if withKey {
			r.Header.Set("Authorization", "Bearer "+fx.key)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("status %d: %s\n%s", w.Code, w.Body, fx.log)
		}
		if w.Code < 400 {
			return
		}
		var p api.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != w.Code || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Fatalf("status %d, %v: %s", w.Code, w.Header(), w.Body)
		}
	})
}

// Whatever stands where an ID belongs, it is answered as a wrong form or as not found.
func FuzzID(f *testing.F) {
	fx := newFixture(f, driver{})
	h := fx.handler(f)
	for _, seed := range []string{"job_01h455vb4pex5vsknk084sn02q", "", ".", "..", "../..", "a/b", "%2F", "%zz", "😀", "job_\x00", strings.Repeat("a", 10_000)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		escaped := url.PathEscape(id)
		for _, path := range []string{
			"/v1/services/" + escaped, "/v1/instances/" + escaped, "/v1/instances/" + escaped + "/bindings", "/v1/bindings/" + escaped,
			"/v1/bindings/" + escaped + "/credentials", "/v1/jobs/" + escaped, "/v1/jobs/" + escaped + "/events",
		} {
			u, err := url.ParseRequestURI(path)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.URL = u
			r.Header.Set("Authorization", "Bearer "+fx.key)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if known := strings.HasPrefix(path, "/v1/services/") && w.Code == http.StatusOK; w.Code != 400 && w.Code != 404 && !known {
				t.Fatalf("%s: status %d: %s", path, w.Code, w.Body)
			}
		}
	})
}
