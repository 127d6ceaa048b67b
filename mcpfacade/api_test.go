package mcpfacade_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/provisiond/provisiond/mcpfacade"
)

const (
	jobID      = "job_01h455vb4pex5vsknk084sn02q"
	instanceID = "inst_01h455vb4pex5vsknk084sn02q"
	bindingID  = "bind_01h455vb4pex5vsknk084sn02q"
	questionID = "qst_01h455vb4pex5vsknk084sn02q"
	secretID   = "qst_01h455vb4pex5vsknk084sn02r"

	jobRoute    = "GET /v1/jobs/" + jobID
	answerRoute = "POST /v1/jobs/" + jobID + "/questions/" + questionID + "/answer"
)

// recorder is the API behind the facade: it keeps what it is asked and answers with bodies that fit
// openapi.yaml. The real API is behind the facade in the e2e tests.
type recorder struct {
	mu       sync.Mutex
	requests []string
	headers  []http.Header
	bodies   map[string]answer // by method and path
	after    map[string]func() // what a request changes, by method and path
	answered http.Header       // headers of every answer
}

type answer struct {
	status int
	body   string
}

func newRecorder() *recorder {
	job := jobBody("awaiting_input")
	return &recorder{after: map[string]func(){}, bodies: map[string]answer{
		"GET /v1/services":                                                {200, `{"items":[` + serviceBody + `],"next_cursor":"abc"}`},
		"GET /v1/services/postgres":                                       {200, serviceBody},
		"POST /v1/instances":                                              {202, jobBody("pending")},
		"GET /v1/instances":                                               {200, `{"items":[` + instanceBody + `]}`},
		"GET /v1/instances/" + instanceID:                                 {200, instanceBody},
		"DELETE /v1/instances/" + instanceID:                              {202, jobBody("pending")},
		"PATCH /v1/instances/" + instanceID:                               {202, jobBody("pending")},
		"GET /v1/instances/" + instanceID + "/bindings":                   {200, bindingsBody},
		"POST /v1/instances/" + instanceID + "/bindings":                  {202, jobBody("pending")},
		"POST /v1/instances/" + instanceID + "/check":                     {202, jobBody("pending")},
		"POST /v1/bindings/" + bindingID + "/rotate":                      {202, jobBody("pending")},
		"DELETE /v1/bindings/" + bindingID:                                {202, jobBody("pending")},
		"GET /v1/bindings/" + bindingID + "/credentials":                  {200, credentialsBody},
		"GET /v1/jobs":                                                    {200, `{"items":[` + job + `]}`},
		"GET /v1/jobs/" + jobID:                                           {200, job},
		"POST /v1/jobs/" + jobID + "/cancel":                              {202, jobBody("canceled")},
		"POST /v1/jobs/" + jobID + "/questions/" + questionID + "/answer": {200, jobBody("succeeded")},
		"POST /v1/jobs/" + jobID + "/questions/" + secretID + "/answer":   {200, job},
	}}
}

func (a *recorder) set(route string, status int, body string) { a.bodies[route] = answer{status, body} }

func (a *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	request := fmt.Sprintf("%s %s %s %s", r.Method, r.URL.RequestURI(), r.Header.Get("Idempotency-Key"), body)
	if etag := r.Header.Get("If-Match"); etag != "" {
		request += " If-Match " + etag
	}
	a.requests = append(a.requests, request)
	a.headers = append(a.headers, r.Header.Clone())
	found, ok := a.bodies[r.Method+" "+r.URL.Path]
	if change, ok := a.after[r.Method+" "+r.URL.Path]; ok {
		change()
	}
	a.mu.Unlock()
	if !ok {
		found = answer{http.StatusNotFound, problemBody(http.StatusNotFound, "not_found", "")}
	}
	contentType := "application/json"
	if found.status >= http.StatusBadRequest {
		contentType = "application/problem+json"
	}
	w.Header().Set("Content-Type", contentType)
	maps.Copy(w.Header(), a.answered)
	w.WriteHeader(found.status)
	_, _ = io.WriteString(w, found.body)
}

// settles makes the job succeed once the question is answered.
func (a *recorder) settles() *recorder {
	a.after[answerRoute] = func() { a.set(jobRoute, http.StatusOK, jobBody("succeeded")) }
	return a
}

// asked is all that the API was asked, one request a line.
func (a *recorder) asked() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.requests, "\n")
}

func jobBody(state string) string {
	question := func(id, name string, secret bool) string {
		return fmt.Sprintf(`{"id":%q,"name":%q,"message":"Which?","schema":{"type":"object","properties":{}},"secret":%t,`+
			`"answerable_by":"any","on_expiry":"fail","state":"open","asked_at":"2026-01-01T00:00:00Z",`+
			`"expires_at":"2026-01-02T00:00:00Z","answer_url":"http://127.0.0.1/answer/%s"}`, id, name, secret, id)
	}
	return fmt.Sprintf(`{"id":%q,"operation":"provision","state":%q,"service":"postgres","plan":"small","instance_id":%q,`+
		`"binding_id":%q,"leftovers":[],"progress":{"step":"s","message":"m"},"version":9007199254740993,"poll_after_ms":1,`+
		`"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","deadline_at":"2026-01-01T01:00:00Z",`+
		`"questions":[%s,%s]}`, jobID, state, instanceID, bindingID,
		question(questionID, "region", false), question(secretID, "password", true))
}

const serviceBody = `{"id":"postgres","name":"PostgreSQL","description":"d","simulated":false,"plans":[{"id":"small","name":"Small",` +
	`"description":"d","parameters":{"type":"object","properties":{"region":{"type":"string"},"token":{"type":"string","writeOnly":true}}},` +
	`"questions":[{"name":"password","message":"m","schema":{},"secret":true,"answerable_by":"any"}],"updates_to":["large"]},` +
	`{"id":"large","name":"Large","description":"d","parameters":{"type":"object","properties":{"key":{"type":"string","writeOnly":true}}},` +
	`"questions":[],"updates_to":[]}]}`

var (
	instanceBody = fmt.Sprintf(`{"id":%q,"service":"postgres","plan":"small","state":"active","parameters":{},"labels":{},"job_id":%q,`+
		`"deletion_protection":false,"usable":true,"update_repeatable":true,"findings":[],"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}`, instanceID, jobID)
	bindingsBody = fmt.Sprintf(`{"items":[{"id":"bind_01h455vb4pex5vsknk084sn02z","instance_id":%q,"state":"deleted","created_at":"2026-01-01T00:00:00Z"},`+
		`{"id":%q,"instance_id":%q,"state":"active","created_at":"2026-01-01T00:00:00Z"}]}`, instanceID, bindingID, instanceID)
	credentialsBody = fmt.Sprintf(`{"binding_id":%q,"instance_id":%q,"credentials":{"uri":"postgres://u:p@h/d"}}`, bindingID, instanceID)
)

func problemBody(status int, code, more string) string {
	return fmt.Sprintf(`{"type":"about:blank","title":"t","status":%d,"code":%q,"detail":"why","retryable":false,"request_id":"req_1"%s}`,
		status, code, more)
}

// newFacade returns the handler over an API in this process.
func newFacade(t testing.TB, api http.Handler) http.Handler {
	t.Helper()
	handler, err := mcpfacade.New(mcpfacade.Config{API: api, PublicURL: "https://mcp.example.com", AllowedOrigins: []string{"https://app.example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// decodeObject reads a JSON object.
func decodeObject(t testing.TB, data []byte) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatalf("not a JSON object: %v: %s", err, data)
	}
	return object
}
