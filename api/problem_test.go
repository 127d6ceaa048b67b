package api_test

import (
	"testing"

	"github.com/provisiond/provisiond/api"
)

// wantProblem checks an error answer and returns it. That it is as openapi.yaml says was checked
// when it came.
func wantProblem(t testing.TB, r response, status int, code string) api.Problem {
	t.Helper()
	wantStatus(t, r, status)
	if got := r.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("Content-Type %q", got)
	}
	var p api.Problem
	r.json(t, &p)
	if p.Code != code {
		t.Fatalf("code %q, want %q: %s", p.Code, code, r.text)
	}
	if (r.Header.Get("Retry-After") != "") != p.Retryable {
		t.Errorf("retryable is %v, Retry-After is %q", p.Retryable, r.Header.Get("Retry-After"))
	}
	return p
}
