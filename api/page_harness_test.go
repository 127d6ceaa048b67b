package api_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/provisiond/provisiond/api"
	"github.com/provisiond/provisiond/internal/pgtest"
	"github.com/provisiond/provisiond/jobs"
	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/provider"
)

const pageCatalog = `
services:
  - id: thing
    name: Thing
    description: For tests.
    driver: asking
    plans:
      - { id: plain, name: Plain, description: What the driver asks. }
      - id: region
        name: Region
        description: Asks a region.
        parameters:
          properties: { region: { type: string, enum: [eu, us], title: Region } }
          required: [region]
      - id: short
        name: Short
        description: Asks a region, and does not wait for it.
        question_expiry: 1ms
        parameters:
          properties: { region: { type: string, enum: [eu, us], title: Region } }
          required: [region]
      - { id: paid, name: Paid, description: Costs., price: { amount: "5.00", currency: USD, per: month }, confirm_cost: true }
`

// asking is a driver that asks one question and tells the test what it got.
type asking struct {
	provider.Driver // what is never called

	question *provider.Question
	failure  error
	got      chan map[string]any
}

func (d *asking) Provision(_ context.Context, r *provider.Request) (provider.Endpoint, error) {
	if d.failure != nil {
		return nil, d.failure
	}
	if d.question != nil {
		content, answered := r.Answers[d.question.Name]
		if !answered {
			return nil, &provider.InputRequired{Questions: []provider.Question{*d.question}}
		}
		d.got <- content
	}
	return provider.Endpoint{"host": "localhost"}, nil
}

func (*asking) Bind(context.Context, *provider.Request) (provider.Credentials, error) {
	return provider.Credentials{"password": password}, nil
}
func (*asking) Deprovision(context.Context, *provider.Request) error { return nil }
func (*asking) Find(context.Context, *provider.Request) ([]provider.Object, error) {
	return nil, nil
}

// pageFixture is the API with a driver that asks, and what makes its cookies.
type pageFixture struct {
	*fixture

	driver *asking
	sealer *jobs.Sealer
	agent  jobs.Caller
	person string // a key with all scopes
}

func newPages(t testing.TB, d *asking) *pageFixture {
	t.Helper()
	keyset, err := jobs.CreateKeyset()
	if err != nil {
		t.Fatal(err)
	}
	f := &pageFixture{fixture: &fixture{pool: pgtest.Pool(t), log: &lockedBuffer{}}}
	if f.sealer, err = jobs.ReadKeyset(keyset); err != nil {
		t.Fatal(err)
	}
	d.got = make(chan map[string]any, 1)
	f.driver = d
	f.serve(t, pageCatalog)
	if f.tenant, err = jobs.NewAdmin(f.pool).CreateTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	f.key = f.newKey(t, jobs.NewKey{TenantID: f.tenant.ID, Kind: jobs.KindAgent, Scopes: jobs.AllScopes()})
	if f.agent, err = f.Authenticate(t.Context(), f.key); err != nil {
		t.Fatal(err)
	}
	f.person = f.newKey(t, jobs.NewKey{TenantID: f.tenant.ID, Kind: jobs.KindPerson, Scopes: jobs.AllScopes()})
	return f
}

// serve makes the service with the catalog and serves its API.
func (f *pageFixture) serve(t testing.TB, text string) {
	t.Helper()
	c, err := catalog.Load("test.yaml", []byte(text), func(string) (string, bool) { return "", false },
		map[string]provider.Factory{"asking": func(json.RawMessage) (provider.Driver, error) { return f.driver, nil }})
	if err != nil {
		t.Fatal(err)
	}
	f.Service, err = jobs.New(jobs.Config{Pool: f.pool, Catalog: c, Sealer: f.sealer, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(f.handler(t))
	t.Cleanup(server.Close)
	f.url = server.URL
}

// withCatalog is another replica, which has another catalog.
func (f *pageFixture) withCatalog(t testing.TB, text string) *pageFixture {
	t.Helper()
	inner := *f.fixture
	other := *f
	other.fixture = &inner
	other.serve(t, text)
	return &other
}

// handlerAt is the API with another public URL.
func (f *pageFixture) handlerAt(t testing.TB, publicURL string) http.Handler {
	t.Helper()
	h, err := api.New(api.Config{Service: f.Service, PublicURL: publicURL, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// start starts a job as the agent.
func (f *pageFixture) start(t testing.TB, plan string) jobs.Job {
	t.Helper()
	result, err := f.Start(t.Context(), f.agent, jobs.StartRequest{Service: "thing", Plan: plan, Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	return result.Job
}

// until polls the job until it is in the state. Each poll waits for a change.
func (f *pageFixture) until(t testing.TB, id string, state jobs.State) jobs.Job {
	t.Helper()
	j, err := f.Get(t.Context(), f.agent, id)
	for err == nil && j.State != state && !j.State.Final() {
		j, err = f.Wait(t.Context(), f.agent, id, j.Version, 20*time.Second)
	}
	if err != nil || j.State != state {
		t.Fatalf("state %s, want %s (%v)", j.State, state, err)
	}
	return j
}

// browser keeps a cookie.
type browser struct {
	*pageFixture

	cookie string
}

const cookieName = "__Host-provisiond"

// signIn is a browser that the key has signed in.
func (f *pageFixture) signIn(t testing.TB, key string) *browser {
	t.Helper()
	b := &browser{pageFixture: f}
	r := b.post(t, "/sign-in", url.Values{"key": {key}})
	wantStatus(t, r, http.StatusSeeOther)
	for _, c := range r.Cookies() {
		if c.Name == cookieName {
			b.cookie = c.Value
		}
	}
	if b.cookie == "" {
		t.Fatalf("no cookie: %v", r.Header)
	}
	return b
}

func (b *browser) do(t testing.TB, method, path, body string, header map[string]string) response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if b.cookie != "" {
		req.AddCookie(&http.Cookie{Name: cookieName, Value: b.cookie})
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	r := do(t, req)
	if r.StatusCode >= 500 {
		t.Errorf("%s %s: status %d: %s", method, path, r.StatusCode, r.text)
	}
	checkPage(t, r)
	return r
}

// checkPage holds what all pages have in common.
func checkPage(t testing.TB, r response) {
	t.Helper()
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
	for name, want := range map[string]string{
		"Content-Security-Policy": policy, "Cache-Control": "no-store", "Referrer-Policy": "same-origin",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s %q, want %q", name, got, want)
		}
	}
	for _, banned := range []string{"<script>", "<style", " style=", "javascript:", "onclick", "ZgotmplZ", "%!"} {
		if strings.Contains(r.text, banned) {
			t.Errorf("%q is in the page: %s", banned, r.text)
		}
	}
}

func (b *browser) get(t testing.TB, path string) response {
	t.Helper()
	return b.do(t, http.MethodGet, path, "", nil)
}

func (b *browser) post(t testing.TB, path string, form url.Values) response {
	t.Helper()
	return b.do(t, http.MethodPost, path, form.Encode(), nil)
}

// wantText wants each of the texts in the page.
func wantText(t testing.TB, r response, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.text, text) {
			t.Errorf("no %q in the page: %s", text, r.text)
		}
	}
}
