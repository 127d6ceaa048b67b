package api_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/provisiond/provisiond/jobs"
)

func TestSignInComesBack(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	job := f.start(t, "region")
	path := "/answer/" + job.Questions[0].ID
	visitor := &browser{pageFixture: f}
	r := visitor.get(t, path)
	wantStatus(t, r, http.StatusSeeOther)
	if want := "/sign-in?return=" + url.QueryEscape(path); r.Header.Get("Location") != want {
		t.Errorf("Location %q, want %q", r.Header.Get("Location"), want)
	}
	r = visitor.get(t, r.Header.Get("Location"))
	wantStatus(t, r, http.StatusOK)
	wantText(t, r, `name="return" value="`+path+`"`, `<label for="key">`, `lang="en"`, `<title>Sign in`)

	r = visitor.post(t, "/sign-in", url.Values{"key": {f.person}, "return": {path}})
	wantStatus(t, r, http.StatusSeeOther)
	if r.Header.Get("Location") != path {
		t.Errorf("Location %q", r.Header.Get("Location"))
	}
	cookie := r.Cookies()[0]
	if cookie.Name != cookieName || !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode ||
		cookie.Path != "/" || cookie.Domain != "" || cookie.MaxAge != 12*60*60 {
		t.Errorf("cookie %v", cookie)
	}
	if strings.Contains(cookie.Value, f.person) || strings.Contains(f.log.String(), f.person) || strings.Contains(f.log.String(), cookie.Value) {
		t.Error("the key or the session shows")
	}
	visitor.cookie = cookie.Value
	wantStatus(t, visitor.get(t, path), http.StatusOK)
	r = visitor.get(t, "/sign-in")
	wantText(t, r, "You are signed in", "Sign out")
	r = visitor.get(t, "/sign-in?return="+path)
	wantStatus(t, r, http.StatusSeeOther)

	r = visitor.post(t, "/sign-out", nil)
	wantStatus(t, r, http.StatusSeeOther)
	if c := r.Cookies()[0]; c.Name != cookieName || c.MaxAge >= 0 || c.Value != "" {
		t.Errorf("cookie %v", c)
	}
}

func TestCookieOverPlainHTTP(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	h := f.handlerAt(t, "http://127.0.0.1:8080")
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/sign-in", strings.NewReader(url.Values{"key": {f.person}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if c := w.Result().Cookies()[0]; c.Name != "provisiond" || c.Secure || !c.HttpOnly {
		t.Errorf("cookie %v", c)
	}
}

func TestSignInRefuses(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	key, revoked, err := jobs.NewAdmin(f.pool).CreateKey(t.Context(), jobs.NewKey{TenantID: f.tenant.ID, Kind: jobs.KindPerson})
	if err != nil {
		t.Fatal(err)
	}
	f.revoke(t, key.ID)
	service := f.newKey(t, jobs.NewKey{TenantID: f.tenant.ID, Kind: jobs.KindService, Scopes: jobs.AllScopes()})
	past := time.Now().Add(-time.Minute)
	expired := f.newKey(t, jobs.NewKey{TenantID: f.tenant.ID, Kind: jobs.KindPerson, Scopes: jobs.AllScopes(), ExpiresAt: &past})
	for _, tt := range []struct {
		name, key string
		status    int
		text      string
	}{
		{"agent", f.key, http.StatusForbidden, "the key of an agent or a service"},
		{"service", service, http.StatusForbidden, "the key of an agent or a service"},
		{"nothing", "", http.StatusUnauthorized, "no key that is valid"},
		{"no key", canary, http.StatusUnauthorized, "no key that is valid"},
		{"markup", `"><script>` + canary, http.StatusUnauthorized, "no key that is valid"},
		{"revoked", revoked, http.StatusUnauthorized, "no key that is valid"},
		{"expired", expired, http.StatusUnauthorized, "no key that is valid"},
	} {
		b := &browser{pageFixture: f}
		r := b.post(t, "/sign-in", url.Values{"key": {tt.key}, "return": {"/jobs/job_01h455vb4pex5vsknk084sn02q"}})
		if r.StatusCode != tt.status || len(r.Cookies()) > 0 {
			t.Errorf("%s: status %d, cookies %v", tt.name, r.StatusCode, r.Cookies())
		}
		wantText(t, r, tt.text, `aria-invalid="true"`, `href="#key"`, "<title>Error: ", `value="/jobs/job_01h455vb4pex5vsknk084sn02q"`)
		if strings.Contains(r.text, canary) || tt.key != "" && strings.Contains(r.text, tt.key) {
			t.Errorf("%s: the key is shown: %s", tt.name, r.text)
		}
	}
}

func (f *pageFixture) revoke(t testing.TB, keyID string) {
	t.Helper()
	if err := jobs.NewAdmin(f.pool).RevokeKey(t.Context(), keyID); err != nil {
		t.Fatal(err)
	}
}

func TestSessionsThatAreNone(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	job := f.start(t, "region")
	good := f.signIn(t, f.person)
	session, err := f.sealer.OpenSession(good.cookie)
	if err != nil {
		t.Fatal(err)
	}
	seal := func(s *jobs.Sealer, change func(*jobs.Session)) string {
		t.Helper()
		other := session
		change(&other)
		text, err := s.SealSession(other)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	keyset, err := jobs.CreateKeyset()
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := jobs.ReadKeyset(keyset)
	if err != nil {
		t.Fatal(err)
	}
	for name, cookie := range map[string]string{
		"forged":            "bm90IHNlYWxlZA",
		"not base64":        "***",
		"changed":           good.cookie[:len(good.cookie)-6] + "AAAAAA",
		"cut":               good.cookie[:len(good.cookie)/2],
		"huge":              strings.Repeat("A", 8000),
		"expired":           seal(f.sealer, func(s *jobs.Session) { s.ExpiresAt = time.Now().Add(-time.Second) }),
		"of another server": seal(foreign, func(*jobs.Session) {}),
		"of no key":         seal(f.sealer, func(s *jobs.Session) { s.KeyID = "key_01h455vb4pex5vsknk084sn02q" }),
		"of another tenant": seal(f.sealer, func(s *jobs.Session) { s.TenantID, s.KeyID = "tnt_x", f.agent.KeyID }),
	} {
		b := &browser{f, cookie}
		for _, path := range []string{"/answer/" + job.Questions[0].ID, "/jobs/" + job.ID} {
			r := b.get(t, path)
			if r.StatusCode != http.StatusSeeOther || !strings.HasPrefix(r.Header.Get("Location"), "/sign-in?return=") {
				t.Errorf("%s: status %d", name, r.StatusCode)
			}
		}
		r := b.get(t, "/jobs/"+job.ID+"?fragment=1")
		wantStatus(t, r, http.StatusUnauthorized)
		r = b.post(t, "/answer/"+job.Questions[0].ID, url.Values{"action": {"decline"}})
		wantStatus(t, r, http.StatusSeeOther)
	}
	j, err := f.Get(t.Context(), f.agent, job.ID)
	if err != nil || j.State != jobs.AwaitingInput {
		t.Errorf("state %s (%v)", j.State, err)
	}
}

func TestARevokedKeySignsOut(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	job := f.start(t, "region")
	b := f.signIn(t, f.person)
	session, err := f.sealer.OpenSession(b.cookie)
	if err != nil {
		t.Fatal(err)
	}
	f.revoke(t, session.KeyID) // before the key is known to the replica by its ID, so at once
	wantStatus(t, b.get(t, "/jobs/"+job.ID), http.StatusSeeOther)
}

func TestNoRedirectElsewhere(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	const id = "01h455vb4pex5vsknk084sn02q"
	for _, target := range []string{
		"https://evil.example/", "//evil.example/", `/\evil.example`, "/answer/../sign-out", "/docs", "javascript:alert(1)",
		"/jobs/job_" + id + "@evil.example", "/jobs/job_" + id + "\r\nX: y", "https://x/jobs/job_" + id, "/jobs/job_" + id + "\n",
	} {
		b := &browser{pageFixture: f}
		r := b.post(t, "/sign-in", url.Values{"key": {f.person}, "return": {target}})
		if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/sign-in" {
			t.Errorf("%q leads to %q", target, r.Header.Get("Location"))
		}
		if r := b.get(t, "/sign-in?return="+url.QueryEscape(target)); !strings.Contains(r.text, `name="return" value=""`) {
			t.Errorf("%q is in the page", target)
		}
	}
}

// A browser that comes from a link elsewhere keeps the cookie back; it is led to ask again.
func TestALinkFromElsewhere(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	path := "/answer/" + f.start(t, "region").Questions[0].ID
	b := &browser{pageFixture: f}
	r := b.do(t, http.MethodGet, path, "", map[string]string{"Sec-Fetch-Site": "cross-site"})
	wantStatus(t, r, http.StatusOK)
	wantText(t, r, `http-equiv="refresh" content="0; url=`+path+`"`, `<a href="`+path+`">`)
}

func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	job := f.start(t, "region")
	b := f.signIn(t, f.person)
	answer := url.Values{"action": {"decline"}}.Encode()
	for name, header := range map[string]map[string]string{
		"cross-site": {"Sec-Fetch-Site": "cross-site"},
		"same site":  {"Sec-Fetch-Site": "same-site"},
		"origin":     {"Sec-Fetch-Site": "", "Origin": "https://evil.example"},
		"null":       {"Sec-Fetch-Site": "", "Origin": "null"},
	} {
		for _, path := range []string{"/answer/" + job.Questions[0].ID, "/sign-in", "/sign-out"} {
			r := b.do(t, http.MethodPost, path, answer, header)
			if r.StatusCode != http.StatusForbidden || len(r.Cookies()) > 0 {
				t.Errorf("%s to %s: status %d", name, path, r.StatusCode)
			}
		}
	}
	// A proxy may hand on another Host than the browser's.
	r := b.do(t, http.MethodPost, "/answer/"+job.Questions[0].ID, answer,
		map[string]string{"Sec-Fetch-Site": "", "Origin": "https://provisiond.example"})
	wantStatus(t, r, http.StatusSeeOther)
}

func TestAssets(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	for name, contentType := range map[string]string{"pages.css": "text/css; charset=utf-8", "job.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"} {
		r := f.send(t, request{method: "GET", path: "/assets/" + name, key: "-"})
		wantStatus(t, r, http.StatusOK)
		if r.Header.Get("Content-Type") != contentType || r.text == "" {
			t.Errorf("%s: %v", name, r.Header)
		}
		r = f.send(t, request{method: "GET", path: "/assets/" + name, key: "-", header: map[string]string{"If-None-Match": r.Header.Get("ETag")}})
		wantStatus(t, r, http.StatusNotModified)
	}
	r := f.send(t, request{method: "GET", path: "/favicon.ico", key: "-"})
	wantStatus(t, r, http.StatusOK)
	if r.Header.Get("Content-Type") != "image/svg+xml" {
		t.Errorf("icon: %v", r.Header)
	}
	wantProblem(t, f.send(t, request{method: "GET", path: "/assets/none.js", key: "-"}), http.StatusNotFound, "not_found")
}
