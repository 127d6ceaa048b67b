package api_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/jobs"
)

func TestUnauthenticated(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	past := time.Now().Add(-time.Hour)
	key := func(k jobs.NewKey) (jobs.Key, string) {
		k.TenantID, k.Name, k.Kind, k.Scopes = f.tenant.ID, "test", jobs.KindAgent, jobs.AllScopes()
		made, token, err := jobs.NewAdmin(f.pool).CreateKey(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		return made, token
	}
	_, expired := key(jobs.NewKey{ExpiresAt: &past})
	revokedKey, revoked := key(jobs.NewKey{})
	if err := jobs.NewAdmin(f.pool).RevokeKey(t.Context(), revokedKey.ID); err != nil {
		t.Fatal(err)
	}
	unknownKey, unknown := key(jobs.NewKey{})
	if _, err := f.pool.Exec(t.Context(), `DELETE FROM api_key WHERE id = $1`, unknownKey.ID); err != nil {
		t.Fatal(err)
	}
	var want string
	for _, tt := range []struct {
		name, authorization string
		given               bool // whether there is a token at all
	}{
		{"missing", "", false},
		{"empty", "Bearer ", false},
		{"other scheme", "Basic " + f.key, false},
		{"no scheme", f.key, false},
		{"malformed", "Bearer " + canary, true},
		{"checksum", "Bearer " + f.key + "x", true},
		{"tab", "Bearer prov_\t", true},
		{"unknown", "Bearer " + unknown, true},
		{"revoked", "Bearer " + revoked, true},
		{"expired", "Bearer " + expired, true},
	} {
		header := map[string]string{"X-Request-Id": "same", "Authorization": tt.authorization}
		r := f.send(t, request{method: "GET", path: "/v1/jobs", key: "-", header: header})
		wantProblem(t, r, http.StatusUnauthorized, "unauthenticated")
		challenge := `Bearer realm="provisiond"`
		if tt.given {
			challenge += `, error="invalid_token"`
		}
		if got := r.Header.Get("WWW-Authenticate"); got != challenge {
			t.Errorf("%s: WWW-Authenticate %q", tt.name, got)
		}
		if want == "" {
			want = r.text
		}
		if diff := cmp.Diff(want, r.text); diff != "" {
			t.Errorf("%s: another answer: %s", tt.name, diff)
		}
	}
	wantStatus(t, f.get(t, "/v1/jobs"), http.StatusOK)
}

func TestInsufficientScope(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	const id = "_01h455vb4pex5vsknk084sn02q"
	for _, tt := range []struct{ method, path, scope string }{
		{"GET", "/v1/services", jobs.ScopeServicesRead},
		{"HEAD", "/v1/services", jobs.ScopeServicesRead},
		{"GET", "/v1/instances", jobs.ScopeInstancesRead},
		{"POST", "/v1/instances", jobs.ScopeInstancesWrite},
		{"DELETE", "/v1/instances/inst" + id, jobs.ScopeInstancesWrite},
		{"PATCH", "/v1/instances/inst" + id, jobs.ScopeInstancesWrite},
		{"POST", "/v1/instances/inst" + id + "/check", jobs.ScopeInstancesWrite},
		{"POST", "/v1/instances/inst" + id + "/bindings", jobs.ScopeInstancesWrite},
		{"POST", "/v1/bindings/bind" + id + "/rotate", jobs.ScopeInstancesWrite},
		{"DELETE", "/v1/bindings/bind" + id, jobs.ScopeInstancesWrite},
		{"GET", "/v1/bindings/bind" + id + "/credentials", jobs.ScopeCredentialsRead},
		{"GET", "/v1/jobs/job" + id, jobs.ScopeJobsRead},
		{"POST", "/v1/jobs/job" + id + "/cancel", jobs.ScopeInstancesWrite},
		{"POST", "/v1/jobs/job" + id + "/questions/qst" + id + "/answer", jobs.ScopeQuestionsAnswer},
	} {
		others := slices.DeleteFunc(jobs.AllScopes(), func(s string) bool { return s == tt.scope })
		key := f.newKey(t, jobs.NewKey{TenantID: f.tenant.ID, Kind: jobs.KindAgent, Scopes: others})
		r := f.send(t, request{method: tt.method, path: tt.path, key: key})
		want := `Bearer realm="provisiond", error="insufficient_scope", scope="` + tt.scope + `"`
		if got := r.Header.Get("WWW-Authenticate"); r.StatusCode != http.StatusForbidden || got != want {
			t.Errorf("%s %s: status %d, WWW-Authenticate %q", tt.method, tt.path, r.StatusCode, got)
		}
		if tt.method != "HEAD" {
			wantProblem(t, r, http.StatusForbidden, "insufficient_scope")
		}
	}
}

func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	f.pool.Close()
	for _, r := range []response{f.get(t, "/v1/jobs"), f.post(t, "/v1/instances", `{"service":"thing","plan":"plain"}`)} {
		p := wantProblem(t, r, http.StatusServiceUnavailable, "unavailable")
		if !p.Retryable || r.Header.Get("Retry-After") != "1" {
			t.Errorf("got %s", r.text)
		}
	}
	wantStatus(t, f.send(t, request{method: "GET", path: "/health/ready", key: "-"}), http.StatusServiceUnavailable)
}
