package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/jobs"
)

// A person follows a link, signs in at a real OpenID provider, answers, and signs out. Each step comes
// to another replica than the one before.
func TestSignInAtTheProvider(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	job := f.start(t, "region")
	path := "/answer/" + job.Questions[0].ID
	issuer := ""
	v := f.newVisitor(t, func(public string) string {
		issuer = newProvider(t, "acme", public+"/sign-in/callback")
		return issuer
	})

	signIn := v.follow(t, v.get(t, path))
	wantStatus(t, signIn, http.StatusOK)
	wantText(t, signIn, "Sign in with "+strings.TrimPrefix(issuer, "http://"), `<label for="key">`)
	begun := v.get(t, linkToBegin(t, signIn))
	wantStatus(t, begun, http.StatusSeeOther)
	wantFlowCookie(t, begun)
	wantAuthorization(t, begun, issuer, v.public)

	done := v.follow(t, begun)
	wantStatus(t, done, http.StatusOK)
	callback := done.Request.URL.String()
	if !strings.HasPrefix(callback, v.public+"/sign-in/callback?") {
		t.Fatalf("it ends at %s", callback)
	}
	// A redirect would keep the new cookie back: the browser comes from another site.
	wantText(t, done, `http-equiv="refresh" content="0; url=`+path+`"`)
	if c := cookieOf(done, cookieName); c == nil || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" {
		t.Errorf("cookie %v", c)
	}
	wantStatus(t, v.get(t, path), http.StatusOK)
	wantText(t, v.get(t, "/sign-in"), "You are signed in", "oidc:", "Sign out")
	wantStatus(t, v.post(t, path, url.Values{"action": {"decline"}}), http.StatusSeeOther)
	wantActor(t, f, job.ID, "question.declined")

	again := v.get(t, callback)
	wantStatus(t, again, http.StatusBadRequest)
	if cookieOf(again, cookieName) != nil {
		t.Error("a replayed callback signs in")
	}
	v.give(t, flowCookieName, cookieOf(begun, flowCookieName).Value) // a copy that somebody kept
	again = v.get(t, callback)
	wantStatus(t, again, http.StatusBadRequest)
	wantText(t, again, "done already")
	if cookieOf(again, cookieName) != nil {
		t.Error("a replayed code signs in")
	}

	wantStatus(t, v.post(t, "/sign-out", nil), http.StatusSeeOther)
	wantStatus(t, v.get(t, path), http.StatusSeeOther)
	code := done.Request.URL.Query().Get("code")
	for _, secret := range []string{code, clientSecret, "id2@", cookieOf(done, cookieName).Value} {
		if strings.Contains(f.log.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

func wantFlowCookie(t *testing.T, r response) {
	t.Helper()
	c := cookieOf(r, flowCookieName)
	if c == nil || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/sign-in/callback" || c.MaxAge != 600 {
		t.Errorf("cookie %v", c)
	}
}

// wantAuthorization wants the request of the authorization code flow with PKCE.
func wantAuthorization(t *testing.T, r response, issuer, public string) {
	t.Helper()
	to, err := r.Location()
	if err != nil {
		t.Fatal(err)
	}
	got := to.Query()
	for _, random := range []string{"state", "nonce", "code_challenge"} {
		if len(got.Get(random)) < 26 {
			t.Errorf("%s is %q", random, got.Get(random))
		}
		got.Del(random)
	}
	want := url.Values{
		"client_id": {clientID}, "response_type": {"code"}, "scope": {"openid"}, "code_challenge_method": {"S256"},
		"redirect_uri": {public + "/sign-in/callback"},
	}
	if diff := cmp.Diff(want, got); diff != "" || !strings.HasPrefix(to.String(), issuer+"/authorize?") {
		t.Errorf("%s: (-want +got):\n%s", to, diff)
	}
}

// wantActor wants the subject, and not its name, to have done what the event says.
func wantActor(t *testing.T, f *pageFixture, jobID, event string) {
	t.Helper()
	events, err := f.LatestEvents(t.Context(), jobs.Caller{TenantID: f.tenant.ID}, jobID, 10)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		if events[i].Type == event && strings.HasPrefix(events[i].Actor, "oidc:") {
			return
		}
	}
	t.Errorf("no %s of a subject in %v", event, events)
}
