package api_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/provisiond/provisiond"
)

func TestDocsWorkOffline(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	public := func(path string) response { return f.send(t, request{method: "GET", path: path, key: "-"}) }
	r := public("/docs")
	wantStatus(t, r, http.StatusOK)
	policy := r.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "http") {
		t.Errorf("policy %q", policy)
	}
	if inline := strings.Count(r.text, "<script>"); inline == 0 || inline != strings.Count(policy, "'sha256-") {
		t.Errorf("the policy does not cover the %d scripts in the page: %s", inline, policy)
	}
	files := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(r.text, -1)
	if len(files) < 3 {
		t.Errorf("the page loads only %v", files)
	}
	for _, file := range files {
		if !strings.HasPrefix(file[1], "/docs/") {
			t.Errorf("the page loads %s", file[1])
			continue
		}
		r := public(file[1])
		if wantStatus(t, r, http.StatusOK); r.text == "" {
			t.Errorf("%s is empty", file[1])
		}
	}
	if strings.Contains(strings.ReplaceAll(r.text, `startsWith("http`, ""), `"http`) {
		t.Error("the page names another server")
	}
	wantProblem(t, public("/docs/none"), http.StatusNotFound, "not_found")
	if r := public("/"); r.StatusCode != http.StatusFound || r.Header.Get("Location") != "/docs" {
		t.Errorf("/: status %d, Location %q", r.StatusCode, r.Header.Get("Location"))
	}
}

func TestContractIsServed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	r := f.send(t, request{method: "GET", path: "/openapi.yaml", key: "-"})
	if wantStatus(t, r, http.StatusOK); r.text != string(provisiond.OpenAPI) {
		t.Error("another text")
	}
	r = f.send(t, request{method: "GET", path: "/openapi.yaml", key: "-", header: map[string]string{"If-None-Match": r.Header.Get("ETag")}})
	wantStatus(t, r, http.StatusNotModified)
	r = f.send(t, request{method: "GET", path: "/openapi.json", key: "-"})
	var doc struct {
		OpenAPI string `json:"openapi"`
		Paths   map[string]json.RawMessage
	}
	r.json(t, &doc)
	if doc.OpenAPI != "3.1.0" || doc.Paths["/v1/jobs/{job_id}"] == nil {
		t.Errorf("got %.200s", r.text)
	}
}
