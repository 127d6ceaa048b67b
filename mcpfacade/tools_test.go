package mcpfacade_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/provisiond/provisiond/mcpfacade"
)

type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer prov_agent_test")
	r.Header.Set("X-Request-ID", "req_9")
	return http.DefaultTransport.RoundTrip(r)
}

// connect returns a session of the SDK's own client over HTTP.
func connect(t *testing.T, handler http.Handler) *mcp.ClientSession {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: server.URL, HTTPClient: &http.Client{Transport: bearer{}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// use calls a tool and returns its text as an object, after a check that structuredContent says the same.
func use(t *testing.T, session *mcp.ClientSession, tool string, args map[string]any) (map[string]any, bool) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	text := decodeObject(t, []byte(result.Content[0].(*mcp.TextContent).Text))
	if !result.IsError {
		if diff := cmp.Diff(text, result.StructuredContent); diff != "" {
			t.Errorf("content and structuredContent differ:\n%s", diff)
		}
	}
	if text["next_step"] == "" {
		t.Error("no next_step")
	}
	return text, result.IsError
}

// Every argument of every tool must reach the API (CASES.md 47). The test fails for a new argument
// until it is listed here.
func TestEveryArgumentReachesTheAPI(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ reaches map[string]string }{
		"list_services": {reaches: map[string]string{"limit": "limit=7", "cursor": "cursor=c1", "service": "/v1/services/postgres"}},
		"start_provision": {reaches: map[string]string{
			"service": `"service":"postgres"`, "plan": `"plan":"small"`, "name": `"name":"orders"`,
			"parameters": `"parameters":{"n":12345678901234567890}`, "answers": `"answers":{"region":"eu"}`, "on_question": `"on_question":"fail"`,
			"labels": `"labels":{"a":"b"}`, "bind": `"bind":false`, "validate_only": `"validate_only":false`, "idempotency_key": "POST /v1/instances k1 ",
			"expires_in": `"expires_in":3600`, "deletion_protection": `"deletion_protection":true`,
			"elicit": "", // Of the facade alone.
		}},
		"get_job": {reaches: map[string]string{"job_id": "/v1/jobs/" + jobID, "wait_seconds": "wait=7", "elicit": ""}},
		"answer_question": {reaches: map[string]string{
			"job_id": "POST /v1/jobs/" + jobID, "question_id": "/questions/" + questionID + "/answer", "action": `"action":"accept"`, "content": `"content":{"region":"eu"}`,
		}},
		"cancel_job": {reaches: map[string]string{"job_id": "POST /v1/jobs/" + jobID + "/cancel"}},
		"list_jobs": {reaches: map[string]string{
			"limit": "limit=7", "cursor": "cursor=c1", "state": "state=failed", "operation": "operation=provision", "instance_id": "instance_id=" + instanceID,
			"service": "service=postgres", "label": "label=a%3Db&label=c%3Dd",
		}},
		"list_instances": {reaches: map[string]string{
			"limit": "limit=7", "cursor": "cursor=c1", "state": "state=failed", "service": "service=postgres", "name": "name=orders", "label": "label=a%3Db&label=c%3Dd",
		}},
		"get_instance":   {reaches: map[string]string{"instance_id": "GET /v1/instances/" + instanceID}},
		"check_instance": {reaches: map[string]string{"instance_id": "POST /v1/instances/" + instanceID + "/check", "idempotency_key": "/check k1 "}},
		"list_bindings":  {reaches: map[string]string{"instance_id": "GET /v1/instances/" + instanceID + "/bindings", "limit": "limit=7", "cursor": "cursor=c1"}},
		"deprovision_instance": {reaches: map[string]string{
			"instance_id": "DELETE /v1/instances/" + instanceID, "validate_only": "?validate_only=false",
			"idempotency_key": "validate_only=false k1 ", "if_match": `If-Match "v1"`,
		}},
		"update_instance": {reaches: map[string]string{
			"instance_id": "PATCH /v1/instances/" + instanceID, "plan": `"plan":"small"`, "parameters": `"parameters":{"n":12345678901234567890}`,
			"answers": `"answers":{"region":"eu"}`, "labels": `"labels":{"a":"b"}`, "expires_in": `"expires_in":3600`,
			"deletion_protection": `"deletion_protection":true`, "validate_only": `"validate_only":false`, "elicit": "",
			"idempotency_key": "PATCH /v1/instances/" + instanceID + " k1 ", "if_match": `If-Match "v1"`,
		}},
		"create_binding": {reaches: map[string]string{
			"instance_id": "POST /v1/instances/" + instanceID + "/bindings", "name": `"name":"orders"`, "expires_in": `"expires_in":3600`,
			"idempotency_key": "/bindings k1 ",
		}},
		"rotate_credentials": {reaches: map[string]string{
			"binding_id": "POST /v1/bindings/" + bindingID + "/rotate", "overlap": `"overlap":60`, "expires_in": `"expires_in":3600`,
			"idempotency_key": "/rotate k1 ",
		}},
		"delete_binding":  {reaches: map[string]string{"binding_id": "DELETE /v1/bindings/" + bindingID, "idempotency_key": "/bindings/" + bindingID + " k1 "}},
		"get_credentials": {reaches: map[string]string{"binding_id": "/v1/bindings/" + bindingID + "/credentials", "instance_id": "/v1/instances/" + instanceID + "/bindings"}},
	}
	values := map[string]any{
		"limit": 7, "cursor": "c1", "service": "postgres", "plan": "small", "name": "orders", "parameters": json.RawMessage(`{"n":12345678901234567890}`),
		"answers": map[string]any{"region": "eu"}, "on_question": "fail", "labels": map[string]any{"a": "b"}, "bind": false, "validate_only": false,
		"idempotency_key": "k1", "job_id": jobID, "wait_seconds": 7, "question_id": questionID, "action": "accept", "content": map[string]any{"region": "eu"},
		"state": "failed", "operation": "provision", "instance_id": instanceID, "label": []string{"a=b", "c=d"}, "binding_id": bindingID, "elicit": false,
		"expires_in": 3600, "deletion_protection": true, "overlap": 60, "if_match": "v1",
	}
	tools, err := connect(t, newFacade(t, newRecorder())).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		t.Run(tool.Name, func(t *testing.T) {
			t.Parallel()
			schema := tool.InputSchema.(map[string]any)
			required, _ := schema["required"].([]any)
			for name := range schema["properties"].(map[string]any) {
				want, known := tests[tool.Name].reaches[name]
				if !known {
					t.Errorf("argument %s is not tested", name)
				}
				api := newRecorder()
				args := map[string]any{name: values[name]}
				for _, other := range required {
					args[other.(string)] = values[other.(string)]
				}
				use(t, connect(t, newFacade(t, api)), tool.Name, args)
				if asked := api.asked(); !strings.Contains(asked, want) {
					t.Errorf("%s did not reach the API as %s:\n%s", name, want, asked)
				}
			}
		})
	}
}

func TestCallersHeadersAreForwarded(t *testing.T) {
	t.Parallel()
	api := newRecorder()
	use(t, connect(t, newFacade(t, api)), "get_job", map[string]any{"job_id": jobID})
	got := api.headers[0]
	if got.Get("Authorization") != "Bearer prov_agent_test" || got.Get("X-Request-ID") != "req_9" {
		t.Errorf("headers %v", got)
	}
}

func TestRemoteAPI(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newRecorder())
	t.Cleanup(server.Close)
	handler, err := mcpfacade.New(mcpfacade.Config{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if got, isError := use(t, connect(t, handler), "get_job", map[string]any{"job_id": jobID}); isError || got["id"] != jobID {
		t.Errorf("%v", got)
	}
}

func TestConfigErrors(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]mcpfacade.Config{
		"neither": {}, "both": {API: newRecorder(), BaseURL: "http://x"}, "bad base": {BaseURL: "x"},
		"bad public URL": {API: newRecorder(), PublicURL: "x"}, "bad origin": {API: newRecorder(), AllowedOrigins: []string{"x"}},
	} {
		if _, err := mcpfacade.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestNextSteps(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, tool string
		args       map[string]any
		route      string
		status     int
		body       string
		isError    bool
		want       []string // in next_step
	}{
		{name: "pending", tool: "start_provision", args: map[string]any{"service": "postgres", "plan": "small"}, want: []string{"get_job", jobID, "wait_seconds 20"}},
		{name: "asks", tool: "get_job", args: map[string]any{"job_id": jobID}, want: []string{"answer_question", questionID, "http://127.0.0.1/answer/" + secretID}},
		{name: "answered", tool: "answer_question", args: map[string]any{"job_id": jobID, "question_id": questionID, "action": "decline"}, want: []string{"get_credentials", bindingID}},
		{name: "canceled", tool: "cancel_job", args: map[string]any{"job_id": jobID}, want: []string{"canceled"}},
		{name: "next page", tool: "list_services", args: nil, want: []string{"cursor abc", "start_provision"}},
		{
			name: "preflight", tool: "start_provision", args: map[string]any{"service": "postgres", "plan": "small", "validate_only": true},
			route: "POST /v1/instances", status: 200, body: `{"valid":false,"blockers":[],"questions":[]}`, want: []string{"blockers"},
		},
		{
			name: "preflight with a secret", tool: "start_provision", args: map[string]any{"service": "postgres", "plan": "small", "validate_only": true, "on_question": "fail"},
			route: "POST /v1/instances", status: 200,
			body: `{"valid":false,"blockers":[{"code":"input_required","pointer":"/answers/password","detail":"d"}],` +
				`"questions":[{"name":"password","message":"m","schema":{},"secret":true,"answerable_by":"any"}]}`,
			want: []string{"Never give password in answers", "page", "REST"},
		},
		{
			name: "person required", tool: "answer_question", args: map[string]any{"job_id": jobID, "question_id": questionID, "action": "decline"},
			route: "POST /v1/jobs/" + jobID + "/questions/" + questionID + "/answer", status: 403,
			body: problemBody(403, "person_required", `,"answer_url":"http://x/answer"`), isError: true, want: []string{"answer_url"},
		},
		{
			name: "no scope", tool: "get_credentials", args: map[string]any{"binding_id": bindingID}, route: "GET /v1/bindings/" + bindingID + "/credentials",
			status: 403, body: problemBody(403, "insufficient_scope", ""), isError: true, want: []string{"operator", "scope"},
		},
		{
			name: "invalid", tool: "start_provision", args: map[string]any{"service": "postgres", "plan": "small"}, route: "POST /v1/instances", status: 422,
			body: problemBody(422, "invalid_request", `,"errors":[{"pointer":"/plan","detail":"d"}]`), isError: true, want: []string{"errors"},
		},
		{name: "unknown", tool: "get_instance", args: map[string]any{"instance_id": "inst_01h455vb4pex5vsknk084sn02z"}, isError: true, want: []string{"list_instances"}},
		{name: "no binding", tool: "get_credentials", args: map[string]any{"instance_id": instanceID}, route: "GET /v1/instances/" + instanceID + "/bindings", status: 200, body: `{"items":[]}`, isError: true, want: []string{"waiting does not help"}},
		{name: "pending binding", tool: "get_credentials", args: map[string]any{"instance_id": instanceID}, route: "GET /v1/instances/" + instanceID + "/bindings", status: 200, body: `{"items":[{"id":"bind_01h455vb4pex5vsknk084sn02q","instance_id":"inst_01h455vb4pex5vsknk084sn02q","state":"pending","created_at":"2026-01-01T00:00:00Z"}]}`, isError: true, want: []string{"not ready"}},
		{name: "not JSON", tool: "get_instance", args: map[string]any{"instance_id": instanceID}, route: "GET /v1/instances/" + instanceID, status: 200, body: "<html>", isError: true, want: []string{"code"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			api := newRecorder()
			if tt.route != "" {
				api.set(tt.route, tt.status, tt.body)
			}
			got, isError := use(t, connect(t, newFacade(t, api)), tt.tool, tt.args)
			if isError != tt.isError {
				t.Fatalf("isError %t: %v", isError, got)
			}
			for _, want := range tt.want {
				if !strings.Contains(got["next_step"].(string), want) {
					t.Errorf("next step %q, want %q in it", got["next_step"], want)
				}
			}
		})
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	const canary = "canary-value"
	for name, tt := range map[string]struct {
		tool string
		args any
		want string
	}{
		"missing":       {"get_job", map[string]any{}, "/job_id"},
		"unknown":       {"get_job", map[string]any{"job_id": jobID, "wait": 1}, "wait_seconds"},
		"wrong type":    {"get_job", map[string]any{"job_id": jobID, "wait_seconds": canary}, "integer"},
		"fraction":      {"get_job", map[string]any{"job_id": jobID, "wait_seconds": 1.5}, "integer"},
		"odd ID":        {"get_job", map[string]any{"job_id": "../" + canary}, "must match"},
		"dots":          {"deprovision_instance", map[string]any{"instance_id": ".."}, "must match"},
		"bad label":     {"list_jobs", map[string]any{"label": []any{1}}, "array of strings"},
		"two bindings":  {"get_credentials", map[string]any{"binding_id": bindingID, "instance_id": instanceID}, "either"},
		"null required": {"get_job", map[string]any{"job_id": nil}, "is required"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newRecorder()
			result, err := connect(t, newFacade(t, api)).CallTool(t.Context(), &mcp.CallToolParams{Name: tt.tool, Arguments: tt.args})
			if err != nil {
				t.Fatal(err)
			}
			text := result.Content[0].(*mcp.TextContent).Text
			if !result.IsError || !strings.Contains(text, tt.want) || strings.Contains(text, canary) {
				t.Errorf("isError %t: %s", result.IsError, text)
			}
			if asked := api.asked(); asked != "" {
				t.Errorf("the API was asked: %s", asked)
			}
		})
	}
}

func TestSecretsDoNotPass(t *testing.T) {
	t.Parallel()
	const secret = "canary-secret"
	for name, tt := range map[string]struct {
		tool string
		args map[string]any
		want string
	}{
		"answer":            {"answer_question", map[string]any{"job_id": jobID, "question_id": secretID, "action": "accept", "content": map[string]any{"password": secret}}, "http://127.0.0.1/answer/" + secretID},
		"answer in advance": {"start_provision", map[string]any{"service": "postgres", "plan": "small", "answers": map[string]any{"password": secret}}, "password"},
		"parameter":         {"start_provision", map[string]any{"service": "postgres", "plan": "small", "parameters": map[string]any{"token": secret}}, "token"},
		"new parameter":     {"update_instance", map[string]any{"instance_id": instanceID, "parameters": map[string]any{"token": secret}}, "REST"},
		"of another plan":   {"update_instance", map[string]any{"instance_id": instanceID, "plan": "large", "parameters": map[string]any{"key": secret}}, "key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newRecorder()
			got, isError := use(t, connect(t, newFacade(t, api)), tt.tool, tt.args)
			text := fmt.Sprint(got)
			if !isError || got["code"] != "secret_not_allowed" || !strings.Contains(text, tt.want) || strings.Contains(text, secret) {
				t.Errorf("isError %t: %s", isError, text)
			}
			if asked := api.asked(); strings.Contains(asked, "POST") || strings.Contains(asked, "PATCH") {
				t.Errorf("the API was asked: %s", asked)
			}
		})
	}
	// A person may still decline it through the agent.
	if _, isError := use(t, connect(t, newFacade(t, newRecorder())), "answer_question",
		map[string]any{"job_id": jobID, "question_id": secretID, "action": "decline"}); isError {
		t.Error("decline of a secret question was refused")
	}
}

func TestGetJobWaitsUntilItIsNotPending(t *testing.T) {
	t.Parallel()
	api := newRecorder()
	polls := 0
	handler := newFacade(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		polls++
		state := "pending" // As from a replica that drains: its waits are answered early.
		if polls == 3 {
			state = "succeeded"
		}
		api.set("GET /v1/jobs/"+jobID, http.StatusOK, jobBody(state))
		api.ServeHTTP(w, r)
	}))
	got, _ := use(t, connect(t, handler), "get_job", map[string]any{"job_id": jobID, "wait_seconds": 9999})
	if got["state"] != "succeeded" || !strings.Contains(api.asked(), "wait=20") {
		t.Errorf("state %v after %s", got["state"], api.asked())
	}
}

// A caller who has sent its user to a page and says so by elicit false waits for the answer there.
func TestGetJobWaitsForAPage(t *testing.T) {
	t.Parallel()
	forPeople := strings.Replace(jobBody("awaiting_input"), `"state":"open"`, `"state":"answered"`, 1)
	for name, tt := range map[string]struct {
		first string
		args  map[string]any
		state string
		polls int
	}{
		"for a person":      {forPeople, map[string]any{"wait_seconds": 20, "elicit": false}, "succeeded", 3},
		"no elicit false":   {forPeople, map[string]any{"wait_seconds": 20}, "awaiting_input", 1},
		"no wait":           {forPeople, map[string]any{"elicit": false}, "awaiting_input", 1},
		"one for the tool":  {jobBody("awaiting_input"), map[string]any{"wait_seconds": 20, "elicit": false}, "awaiting_input", 1},
		"asks in this call": {jobBody("pending"), map[string]any{"wait_seconds": 20, "elicit": false}, "awaiting_input", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			polls := 0
			handler := newFacade(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				polls++
				api := newRecorder()
				switch {
				case polls == 1:
					api.set(jobRoute, http.StatusOK, tt.first)
				case tt.state == "awaiting_input":
					api.set(jobRoute, http.StatusOK, strings.Replace(forPeople, "9007199254740993", "9007199254740994", 1))
				case r.Header.Get("If-None-Match") != `"9007199254740993"`:
					t.Errorf("If-None-Match is %q", r.Header.Get("If-None-Match"))
				case polls == 2: // As from a replica that drains.
					w.WriteHeader(http.StatusNotModified)
					return
				default:
					api.set(jobRoute, http.StatusOK, jobBody("succeeded"))
				}
				api.ServeHTTP(w, r)
			}))
			tt.args["job_id"] = jobID
			got, _ := use(t, connect(t, handler), "get_job", tt.args)
			if got["state"] != tt.state || polls != tt.polls {
				t.Errorf("state %v after %d polls", got["state"], polls)
			}
			if tt.state == "awaiting_input" && name != "one for the tool" && !strings.Contains(got["next_step"].(string), "elicit false") {
				t.Errorf("next step %q", got["next_step"])
			}
		})
	}
}

func TestLargeResultsAreShortened(t *testing.T) {
	t.Parallel()
	api := newRecorder()
	long := strings.Replace(instanceBody, `"parameters":{}`, `"parameters":{"text":"`+strings.Repeat("ä", 50_000)+`"}`, 1)
	api.set("GET /v1/instances/"+instanceID, http.StatusOK, long)
	many := strings.Replace(instanceBody, `"parameters":{}`, `"parameters":{"list":[`+strings.TrimSuffix(strings.Repeat("1,", 50_000), ",")+`]}`, 1)
	session := connect(t, newFacade(t, api))

	one, _ := use(t, session, "get_instance", map[string]any{"instance_id": instanceID})
	text := one["parameters"].(map[string]any)["text"].(string)
	if len(text) > 3000 || !strings.Contains(text, "100000 bytes in all") {
		t.Errorf("a string of %d bytes", len(text))
	}
	api.set("GET /v1/instances/"+instanceID, http.StatusOK, many)
	if got, isError := use(t, session, "get_instance", map[string]any{"instance_id": instanceID}); !isError || got["code"] != "too_large" {
		t.Errorf("isError %t: %v", isError, got["code"])
	}
}

// Wrong arguments are told of in few words, however many there are.
func TestManyWrongArguments(t *testing.T) {
	t.Parallel()
	args := map[string]any{}
	for i := range 5_000 {
		args[fmt.Sprintf("k%d%s", i, strings.Repeat("x", 100))] = i
	}
	got, isError := use(t, connect(t, newFacade(t, newRecorder())), "start_provision", args)
	text, err := json.Marshal(got)
	if !isError || err != nil || len(text) > 10_000 || !strings.Contains(string(text), "and 4982 more") {
		t.Errorf("isError %t, %d bytes: %.500s", isError, len(text), text)
	}
}

// A page that is too large is cut, and its cursor leads to what was cut off.
func TestPagesFit(t *testing.T) {
	t.Parallel()
	const all = 200
	handler := newFacade(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
		first, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
		if err != nil {
			t.Error(err)
		}
		next := ""
		if first+limit < all {
			next = fmt.Sprintf(`,"next_cursor":"%d"`, first+limit)
		}
		items := strings.TrimSuffix(strings.Repeat(instanceBody+",", min(limit, all-first)), ",")
		api := newRecorder()
		api.set("GET /v1/instances", http.StatusOK, `{"items":[`+items+`]`+next+`}`)
		api.ServeHTTP(w, r)
	}))
	session := connect(t, handler)
	for _, limit := range []int{20, 200} {
		args, seen, pages := map[string]any{"limit": limit}, 0, 0
		for more := true; more; pages++ {
			list, isError := use(t, session, "list_instances", args)
			if isError {
				t.Fatal(list)
			}
			text, err := json.Marshal(list)
			if err != nil || len(text) > 11_000 {
				t.Errorf("a page of %d bytes, %v", len(text), err)
			}
			kept := len(list["items"].([]any))
			seen += kept
			if cut := list["truncated"] == true; cut != strings.Contains(list["next_step"].(string), "is truncated to "+strconv.Itoa(kept)) {
				t.Errorf("truncated %t, next step %v", cut, list["next_step"])
			}
			args["cursor"], more = list["next_cursor"]
		}
		if seen != all || pages < 2 {
			t.Errorf("limit %d: %d of %d items on %d pages", limit, seen, all, pages)
		}
	}
}

// A caller that goes away does not wait for the API.
func TestCanceledCall(t *testing.T) {
	t.Parallel()
	reached, free := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(free) })
	handler := newFacade(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(reached)
		<-free // Deaf to its context.
	}))
	ctx, cancel := context.WithCancel(t.Context())
	session := connect(t, handler)
	ended := make(chan error)
	go func() {
		_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "get_job", Arguments: map[string]any{"job_id": jobID}})
		ended <- err
	}()
	<-reached
	cancel()
	if err := <-ended; err == nil {
		t.Error("no error")
	}
}

// A list without filters sends none: an empty one would be one that the API refuses.
func TestListsWithoutArgumentsSendNoFilter(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"list_jobs", "list_instances"} {
		api := newRecorder()
		if _, isError := use(t, connect(t, newFacade(t, api)), tool, nil); isError {
			t.Errorf("%s failed", tool)
		}
		for _, request := range api.requests {
			if strings.Contains(request, "label") {
				t.Errorf("%s sent %s", tool, request)
			}
		}
	}
}
