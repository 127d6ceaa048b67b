package api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provisiond/provisiond/jobs"
)

// gateFixture is the pages with an issuer that says what a real one would not.
type gateFixture struct {
	*visitor

	issuer *testIssuer
	key    signingKey
	// asked counts the codes that came to the issuer.
	asked atomic.Int64
}

func newGate(t *testing.T) *gateFixture {
	t.Helper()
	f := &gateFixture{key: newRSA(t, "one")}
	f.issuer = newTestIssuer(t, f.key)
	f.visitor = newPages(t, &asking{}).newVisitor(t, func(string) string { return f.issuer.url })
	return f
}

// begin begins to sign in and returns what the browser brings to the issuer.
func (f *gateFixture) begin(t *testing.T, back string) url.Values {
	t.Helper()
	r := f.get(t, "/sign-in/begin?return="+url.QueryEscape(back))
	wantStatus(t, r, http.StatusSeeOther)
	to, err := r.Location()
	if err != nil {
		t.Fatal(err)
	}
	return to.Query()
}

// answer makes the issuer answer the next code.
func (f *gateFixture) answer(status int, body any) {
	f.issuer.mu.Lock()
	defer f.issuer.mu.Unlock()
	f.issuer.grant = func(w http.ResponseWriter, _ *http.Request) {
		f.asked.Add(1)
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
}

// person are the claims of an ID token that lets its subject in.
func (f *gateFixture) person(flow url.Values) claims {
	return f.issuer.good().with(claims{"aud": clientID, "scope": nil, "kind": "person", "nonce": flow.Get("nonce")})
}

// finish comes back from the issuer, which gives an ID token of the claims.
func (f *gateFixture) finish(t *testing.T, key signingKey, flow url.Values, c claims) response {
	t.Helper()
	f.answer(http.StatusOK, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": key.sign(t, c, nil)})
	return f.get(t, "/sign-in/callback?code="+canary+"&state="+flow.Get("state"))
}

// wantRefused wants a page that says so, no session, and nothing that is secret or the person's.
func (f *gateFixture) wantRefused(t *testing.T, name string, r response, status int, text string) {
	t.Helper()
	if r.StatusCode != status || !strings.Contains(r.text, text) || !strings.Contains(r.text, `href="/sign-in/begin`) {
		t.Errorf("%s: status %d, want %d and %q: %s", name, r.StatusCode, status, text, r.text)
	}
	if cookieOf(r, cookieName) != nil {
		t.Errorf("%s: signed in", name)
	}
	for _, secret := range []string{canary, subject} {
		if strings.Contains(r.text, secret) || strings.Contains(f.log.String(), secret) {
			t.Errorf("%s: %q shows", name, secret)
		}
	}
}

func TestIDTokensThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newGate(t)
	stranger := newRSA(t, f.key.id)
	const invalid, noTenant, noPerson = "is not valid here", "which tenant", "Only a person can sign in"
	for _, tt := range []struct {
		name    string
		key     signingKey
		changes claims
		text    string
	}{
		{"wrong nonce", f.key, claims{"nonce": "other"}, invalid},
		{"no nonce", f.key, claims{"nonce": nil}, invalid},
		{"foreign audience", f.key, claims{"aud": "another-client"}, invalid},
		{"an access token", f.key, claims{"aud": publicURL + "/mcp"}, invalid},
		{"several audiences", f.key, claims{"aud": []string{clientID, "another-client"}}, invalid},
		{"issued to another client", f.key, claims{"azp": "another-client"}, invalid},
		{"other issuer", f.key, claims{"iss": "https://evil.example"}, invalid},
		{"expired", f.key, claims{"exp": time.Now().Add(-time.Minute).Unix()}, invalid},
		{"no expiry", f.key, claims{"exp": nil}, invalid},
		{"no subject", f.key, claims{"sub": nil}, invalid},
		{"another's signature", stranger, nil, invalid},
		{"no tenant", f.key, claims{"tenant": nil}, noTenant},
		{"unknown tenant", f.key, claims{"tenant": "nobody"}, noTenant},
		{"agent", f.key, claims{"kind": "agent"}, noPerson},
		{"service", f.key, claims{"kind": "service"}, noPerson},
		{"no kind", f.key, claims{"kind": nil}, noPerson},
	} {
		flow := f.begin(t, "")
		f.wantRefused(t, tt.name, f.finish(t, tt.key, flow, f.person(flow).with(tt.changes)), http.StatusForbidden, tt.text)
	}
	flow := f.begin(t, "")
	wantStatus(t, f.finish(t, f.key, flow, f.person(flow)), http.StatusOK)
}

// No code is exchanged for a browser that did not ask for it.
func TestFlowsThatAreNone(t *testing.T) {
	t.Parallel()
	f := newGate(t)
	flow, _, err := f.BeginFlow("")
	if err != nil {
		t.Fatal(err)
	}
	expired := flow
	expired.ExpiresAt = time.Now().Add(-time.Second)
	session, err := f.sealer.SealSession(jobs.Session{KeyID: "key_x", ExpiresAt: flow.ExpiresAt})
	if err != nil {
		t.Fatal(err)
	}
	sealed := func(flow jobs.Flow) string {
		t.Helper()
		text, err := f.sealer.SealFlow(flow)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, tt := range []struct{ name, cookie, query string }{
		{"no cookie", "", "code=x&state=" + flow.State},
		{"tampered state", sealed(flow), "code=x&state=" + flow.State[1:] + "A"},
		{"no state", sealed(flow), "code=x"},
		{"no state on either side", sealed(jobs.Flow{}), "code=x&state="},
		{"refused with another state", sealed(flow), "error=access_denied&state=other"},
		{"expired", sealed(expired), "code=x&state=" + flow.State},
		{"changed", sealed(flow)[:60] + "AAAAAAAA", "code=x&state=" + flow.State},
		{"no base64", "***", "code=x&state=" + flow.State},
		{"huge", strings.Repeat("A", 4000), "code=x&state=" + flow.State},
		{"a session", session, "code=x&state="},
	} {
		f.forget(t)
		if tt.cookie != "" {
			f.give(t, flowCookieName, tt.cookie)
		}
		f.wantRefused(t, tt.name, f.get(t, "/sign-in/callback?"+tt.query), http.StatusBadRequest, "Begin again")
	}
	if n := f.asked.Load(); n != 0 {
		t.Errorf("%d codes came to the issuer", n)
	}
	f.forget(t)
	f.give(t, cookieName, sealed(flow)) // nor is a flow a session
	if r := f.get(t, "/sign-in"); strings.Contains(r.text, "You are signed in") {
		t.Error("a flow passes for a session")
	}
}

func TestIssuersThatRefuse(t *testing.T) {
	t.Parallel()
	f := newGate(t)
	type oauthError struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	for _, tt := range []struct {
		name, query string
		status      int
		body        any
		want        int
		text        string
	}{
		{"denied", "error=access_denied", 0, nil, http.StatusForbidden, "did not let you in"},
		{"busy", "error=temporarily_unavailable", 0, nil, http.StatusServiceUnavailable, "does not answer"},
		{"wrong scope", "error=invalid_scope", 0, nil, http.StatusServiceUnavailable, "Tell your operator"},
		{"code known no more", "code=x", 400, oauthError{"invalid_grant", canary}, http.StatusBadRequest, "Begin again"},
		{"wrong secret", "code=x", 401, oauthError{"invalid_client", canary}, http.StatusServiceUnavailable, "Tell your operator"},
		{"elsewhere", "code=x", 307, nil, http.StatusServiceUnavailable, "Tell your operator"},
		{"broken", "code=x", 500, oauthError{"", canary}, http.StatusServiceUnavailable, "does not answer"},
		{"no ID token", "code=x", 200, map[string]any{"access_token": canary, "token_type": "Bearer"}, http.StatusServiceUnavailable, "Tell your operator"},
	} {
		f.answer(tt.status, tt.body)
		r := f.get(t, "/sign-in/callback?"+tt.query+"&state="+f.begin(t, "").Get("state"))
		f.wantRefused(t, tt.name, r, tt.want, tt.text)
	}
}

// While the issuer is away, keys go on.
func TestSignInWithTheIssuerAway(t *testing.T) {
	t.Parallel()
	f := newGate(t)
	f.issuer.fail(discoveryPath, http.StatusBadGateway)
	f.wantRefused(t, "away", f.get(t, "/sign-in/begin"), http.StatusServiceUnavailable, "does not answer")
	wantStatus(t, f.post(t, "/sign-in", url.Values{"key": {f.pageFixture.person}}), http.StatusSeeOther)
}

func TestNoRedirectElsewhereFromTheIssuer(t *testing.T) {
	t.Parallel()
	f := newGate(t)
	for _, target := range []string{"https://evil.example/", "//evil.example/", `/\evil.example`, "/docs", "javascript:alert(1)", "/sign-in/begin"} {
		f.forget(t)
		flow := f.begin(t, target)
		r := f.finish(t, f.key, flow, f.person(flow))
		wantStatus(t, r, http.StatusOK)
		wantText(t, r, `content="0; url=/sign-in"`)
	}
}

func TestHowLongASubjectStays(t *testing.T) {
	t.Parallel()
	f := newGate(t)
	for _, tt := range []struct{ token, least, most time.Duration }{
		{5 * time.Minute, time.Hour, time.Hour},
		{3 * time.Hour, 3*time.Hour - time.Minute, 3 * time.Hour},
		{72 * time.Hour, 12 * time.Hour, 12 * time.Hour},
	} {
		flow := f.begin(t, "")
		before := time.Now()
		r := f.finish(t, f.key, flow, f.person(flow).with(claims{"exp": before.Add(tt.token).Unix()}))
		after := time.Now()
		session, err := f.sealer.OpenSession(cookieOf(r, cookieName).Value)
		if err != nil {
			t.Fatal(err)
		}
		if end := session.ExpiresAt; end.Before(before.Add(tt.least)) || end.After(after.Add(tt.most)) {
			t.Errorf("a token for %s makes a session for %s", tt.token, end.Sub(before))
		}
	}
}

// An ID token that lists scopes gives no others, and none gives more than the pages need.
func TestScopesOfASubject(t *testing.T) {
	t.Parallel()
	f := newGate(t)
	job := f.start(t, "region")
	for scope, want := range map[any]int{nil: http.StatusOK, "openid jobs:read": http.StatusForbidden} {
		f.forget(t)
		flow := f.begin(t, "")
		wantStatus(t, f.finish(t, f.key, flow, f.person(flow).with(claims{"scope": scope})), http.StatusOK)
		wantStatus(t, f.get(t, "/jobs/"+job.ID), http.StatusOK)
		wantStatus(t, f.get(t, "/answer/"+job.Questions[0].ID), want)
	}
}

func TestPagesWithoutAClient(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	b := &browser{pageFixture: f}
	if r := b.get(t, "/sign-in"); strings.Contains(r.text, "/sign-in/begin") {
		t.Error("there is a link to no issuer")
	}
	wantStatus(t, f.send(t, request{method: "GET", path: "/sign-in/begin", key: "-"}), http.StatusNotFound)
}
