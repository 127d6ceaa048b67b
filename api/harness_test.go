package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond"
	"github.com/provisiond/provisiond/api"
	"github.com/provisiond/provisiond/internal/pgtest"
	"github.com/provisiond/provisiond/jobs"
	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/provider"
)

// canary is submitted in place of a secret; no error may hold it.
const canary = "canary-51c0ffee"

// password is what the test driver gives as a credential.
const password = "driver-password-8d1f"

const testCatalog = `
services:
  - id: thing
    name: Thing
    description: For tests.
    driver: scripted
    plans:
      - { id: plain, name: Plain, description: Asks nothing. }
      - id: region
        name: Region
        description: Asks a region, and a token that only a person may give.
        parameters:
          properties:
            region: { type: string, enum: [eu, us] }
            token: { type: string, writeOnly: true, minLength: 8, x-answerable-by: person }
            size: { type: number, minimum: 1, default: 1 }
          required: [region, token]
      - { id: paid, name: Paid, description: Costs., price: { amount: "5.00", currency: USD, per: month }, confirm_cost: true }
      - id: small
        name: Small
        description: Can be changed.
        updates_to: [large, paid]
        parameters: &changeable
          properties:
            size: { type: integer, minimum: 1, maximum: 9, default: 1, x-mutable: true }
            comment: { type: string, x-mutable: true }
            place: { type: string, default: eu }
            owner: { type: string, x-mutable: true, x-answerable-by: person }
      - { id: large, name: Large, description: Is larger., parameters: *changeable }
      - { id: brief, name: Brief, description: Ends soon., expiry: { default: 1h, max: 2h }, confirm_destroy: false }
  - id: other
    name: Other
    description: For tests too.
    driver: scripted
    plans: [{ id: plain, name: Plain, description: Asks nothing. }]
`

// driver makes nothing. With a gate, Provision waits for it to be closed, and Deprovision for the other.
type driver struct {
	gate, deprovisionGate chan struct{}
}

func (d driver) Provision(ctx context.Context, _ *provider.Request) (provider.Endpoint, error) {
	return provider.Endpoint{"host": "localhost"}, pass(ctx, d.gate)
}

// pass waits for the gate, where there is one.
func pass(ctx context.Context, gate chan struct{}) error {
	if gate == nil {
		return nil
	}
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (driver) Update(context.Context, *provider.Request) (provider.Endpoint, error) {
	return provider.Endpoint{"host": "elsewhere"}, nil
}

func (driver) Unbind(context.Context, *provider.Request) error { return nil }

func (driver) Check(_ context.Context, r *provider.Request) ([]provider.Finding, error) {
	return []provider.Finding{{Kind: provider.Missing, Object: provider.Object{Kind: "thing", Name: r.InstanceID}, Detail: "It is gone."}}, nil
}

// Names implements provider.Namer.
func (driver) Names(r *provider.Request) []provider.Object {
	return []provider.Object{{Kind: "thing", Name: strings.TrimPrefix(r.InstanceID, "inst_")}}
}

func (driver) Bind(context.Context, *provider.Request) (provider.Credentials, error) {
	return provider.Credentials{"password": password}, nil
}
func (d driver) Deprovision(ctx context.Context, _ *provider.Request) error {
	return pass(ctx, d.deprovisionGate)
}
func (driver) Find(context.Context, *provider.Request) ([]provider.Object, error) {
	return nil, nil
}

// fixture is the API on a database of its own, behind a real HTTP server.
type fixture struct {
	*jobs.Service
	pool   *pgxpool.Pool
	tenant jobs.Tenant
	url    string
	key    string // an agent's, with all scopes
	log    *lockedBuffer
}

func newFixture(t testing.TB, d driver) *fixture {
	t.Helper()
	f := &fixture{pool: pgtest.Pool(t), log: &lockedBuffer{}}
	f.Service = newService(t, f.pool, d)
	tenant, err := jobs.NewAdmin(f.pool).CreateTenant(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	f.tenant = tenant
	f.key = f.newKey(t, jobs.NewKey{TenantID: tenant.ID, Kind: jobs.KindAgent, Scopes: jobs.AllScopes()})
	server := httptest.NewServer(f.handler(t))
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

// handler is the API without a server, for what a client cannot show.
func (f *fixture) handler(t testing.TB) http.Handler {
	t.Helper()
	h, err := api.New(f.config())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (f *fixture) config() api.Config {
	return api.Config{
		Service: f.Service, PublicURL: "https://provisiond.example/", MaxWait: 20 * time.Second,
		Logger: slog.New(slog.NewJSONHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

// call calls a handler in this process.
func call(ctx context.Context, h http.Handler, method, path, key string) *http.Response {
	r := httptest.NewRequestWithContext(ctx, method, path, nil)
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func newService(t testing.TB, pool *pgxpool.Pool, d driver) *jobs.Service {
	t.Helper()
	keyset, err := jobs.CreateKeyset()
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := jobs.ReadKeyset(keyset)
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Load("test.yaml", []byte(testCatalog), func(string) (string, bool) { return "", false },
		map[string]provider.Factory{"scripted": func(json.RawMessage) (provider.Driver, error) { return d, nil }})
	if err != nil {
		t.Fatal(err)
	}
	s, err := jobs.New(jobs.Config{Pool: pool, Catalog: c, Sealer: sealer, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (f *fixture) newKey(t testing.TB, k jobs.NewKey) string {
	t.Helper()
	k.Name = "test"
	_, token, err := jobs.NewAdmin(f.pool).CreateKey(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// work runs the service's loops and a worker until the test ends.
func (f *fixture) work(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	worker, err := f.StartWorker(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop, cancelStop := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancelStop()
		if err := worker.Stop(stop); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// request is one request of a test. A key of "" is the fixture's, "-" is none.
type request struct {
	method, path, key, body string
	header                  map[string]string
}

// response is an answer that openapi.yaml allows.
type response struct {
	*http.Response
	text string
}

// json reads the body.
func (r response) json(t testing.TB, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.text), into); err != nil {
		t.Fatalf("%v in %s", err, r.text)
	}
}

func (f *fixture) send(t testing.TB, r request) response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.method, f.url+r.path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if key := r.key; key != "-" {
		if key == "" {
			key = f.key
		}
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	return do(t, req)
}

// roundTrip sends a request and reads the answer to its end.
func roundTrip(t testing.TB, client *http.Client, req *http.Request) response {
	t.Helper()
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{res, string(text)}
}

// do sends a request and checks the answer against openapi.yaml.
func do(t testing.TB, req *http.Request) response {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r := roundTrip(t, client, req)
	checkAnswer(t, req, r.Response, []byte(r.text))
	return r
}

func (f *fixture) get(t testing.TB, path string) response {
	t.Helper()
	return f.send(t, request{method: "GET", path: path})
}

func (f *fixture) post(t testing.TB, path, body string) response {
	t.Helper()
	return f.send(t, request{method: "POST", path: path, body: body})
}

func (f *fixture) patch(t testing.TB, path, body string) response {
	t.Helper()
	return f.send(t, request{method: "PATCH", path: path, body: body})
}

func (f *fixture) delete(t testing.TB, path string) response {
	t.Helper()
	return f.send(t, request{method: "DELETE", path: path})
}

// done follows the job of an answer to its good end.
func (f *fixture) done(t testing.TB, r response) api.Job {
	t.Helper()
	wantStatus(t, r, http.StatusAccepted)
	var job api.Job
	r.json(t, &job)
	if r.Header.Get("Location") != "/v1/jobs/"+job.ID {
		t.Errorf("Location %q of job %s", r.Header.Get("Location"), job.ID)
	}
	f.get(t, "/v1/jobs/"+job.ID+"?wait=20").json(t, &job)
	if job.State != api.JobStateSucceeded {
		t.Fatalf("the job is %+v", job)
	}
	return job
}

func wantStatus(t testing.TB, r response, status int) {
	t.Helper()
	if r.StatusCode != status {
		t.Fatalf("status %d, want %d: %s", r.StatusCode, status, r.text)
	}
}

// theContract is openapi.yaml as kin-openapi reads it: an opinion other than the server's own.
var theContract = sync.OnceValues(func() (routers.Router, error) {
	doc, err := openapi3.NewLoader().LoadFromData(provisiond.OpenAPI)
	if err != nil {
		return nil, err
	}
	doc.Servers = nil
	return legacy.NewRouter(doc)
})

// checkAnswer holds an answer against openapi.yaml and against what all answers have in common.
func checkAnswer(t testing.TB, req *http.Request, res *http.Response, body []byte) {
	t.Helper()
	if res.Header.Get("X-Request-Id") == "" || res.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers of every answer are missing: %v", res.Header)
	}
	if res.StatusCode >= 400 && res.Header.Get("Content-Type") == "application/problem+json" {
		var p api.Problem
		if err := json.Unmarshal(body, &p); err != nil && req.Method != http.MethodHead {
			t.Errorf("problem: %v", err)
		} else if err == nil && (p.Status != res.StatusCode || p.RequestID != res.Header.Get("X-Request-Id")) {
			t.Errorf("problem and answer differ: %s", body)
		}
	}
	router, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	route, params, err := router.FindRoute(req)
	if err != nil {
		return // not in the contract
	}
	err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route},
		Status:                 res.StatusCode, Header: res.Header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	})
	if err != nil {
		t.Errorf("%s %s: the answer is not as openapi.yaml says: %v", req.Method, req.URL.Path, err)
	}
}

// lockedBuffer is a log that is written from several goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// entries returns the request lines with the status.
func (b *lockedBuffer) entries(t testing.TB, status int) []map[string]any {
	t.Helper()
	var found []map[string]any
	for line := range strings.Lines(b.String()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%v in the log line %s", err, line)
		}
		if entry["msg"] == "request" && entry["status"] == float64(status) {
			found = append(found, entry)
		}
	}
	return found
}
