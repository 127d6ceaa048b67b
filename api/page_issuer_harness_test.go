package api_test

import (
	"html"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/provisiond/provisiond/api"
)

const flowCookieName = "__Secure-provisiond-flow"

// visitor is a browser of a person who signs in at an issuer. It keeps cookies and follows no redirect
// by itself.
type visitor struct {
	*pageFixture

	client *http.Client
	public string
}

// newVisitor serves the pages by two replicas in turn. The issuer is made for their public URL.
func (f *pageFixture) newVisitor(t *testing.T, issuerFor func(publicURL string) string) *visitor {
	t.Helper()
	var replicas [2]http.Handler
	var turn atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		replicas[turn.Add(1)%2].ServeHTTP(w, r)
	}))
	public := "https://" + server.Listener.Addr().String()
	o := &api.OIDC{Issuer: issuerFor(public), ClientID: clientID, ClientSecret: clientSecret}
	for i := range replicas {
		var err error
		replicas[i], err = api.New(api.Config{Service: f.Service, PublicURL: public, OIDC: o, Logger: slog.New(slog.NewJSONHandler(f.log, nil))})
		if err != nil {
			t.Fatal(err)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	v := &visitor{pageFixture: f, client: server.Client(), public: public}
	v.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	v.forget(t)
	return v
}

// forget leaves the browser without cookies.
func (v *visitor) forget(t *testing.T) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v.client.Jar = jar
}

// give puts a cookie in the browser.
func (v *visitor) give(t *testing.T, name, value string) {
	t.Helper()
	u, err := url.Parse(v.public)
	if err != nil {
		t.Fatal(err)
	}
	v.client.Jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: "/", Secure: true}})
}

// get opens a page of ours, by its path, or of the issuer, by its URL.
func (v *visitor) get(t *testing.T, to string) response {
	t.Helper()
	if strings.HasPrefix(to, "/") {
		to = v.public + to
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v.send(t, req)
}

func (v *visitor) post(t *testing.T, path string, form url.Values) response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.public+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	return v.send(t, req)
}

func (v *visitor) send(t *testing.T, req *http.Request) response {
	t.Helper()
	r := roundTrip(t, v.client, req)
	if strings.HasPrefix(req.URL.String(), v.public) {
		checkPage(t, r)
	}
	return r
}

// follow goes on for as long as it is redirected.
func (v *visitor) follow(t *testing.T, r response) response {
	t.Helper()
	for r.StatusCode/100 == 3 {
		to, err := r.Location()
		if err != nil {
			t.Fatal(err)
		}
		r = v.get(t, to.String())
	}
	return r
}

var beginLink = regexp.MustCompile(`href="(/sign-in/begin[^"]*)"`)

// linkToBegin is the link to the issuer in a page.
func linkToBegin(t *testing.T, r response) string {
	t.Helper()
	found := beginLink.FindStringSubmatch(r.text)
	if found == nil {
		t.Fatalf("no link to the issuer: %s", r.text)
	}
	return html.UnescapeString(found[1])
}

// cookieOf finds a cookie that the answer sets; nil for none.
func cookieOf(r response, name string) *http.Cookie {
	for _, c := range r.Cookies() {
		if c.Name == name && c.MaxAge > 0 {
			return c
		}
	}
	return nil
}
