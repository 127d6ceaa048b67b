package mcpfacade_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	canTasks    = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	canTaskForm = `{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{"form":{}}}`
)

// taskCall is a raw call of a method of tasks.
func taskCall(t *testing.T, handler http.Handler, can, method, more string) *httptest.ResponseRecorder {
	t.Helper()
	return send(t, handler, rpc{
		version: modern, method: method, can: can, header: map[string]string{"Mcp-Name": jobID},
		params: `"taskId":"` + jobID + `"` + more,
	})
}

// The whole life of a task, each request on another replica.
func TestTaskOverTwoReplicas(t *testing.T) {
	t.Parallel()
	api := newRecorder().settles()
	one, two := newFacade(t, api), newFacade(t, api)

	created := resultOf(t, callTool(t, one, canTaskForm, "start_provision", `"service":"postgres","plan":"small"`, ""))
	delete(created, "_meta")
	if diff := cmp.Diff(map[string]any{
		"resultType": "task", "taskId": jobID, "status": "working", "statusMessage": "m", "ttlMs": nil, "pollIntervalMs": 1.0,
		"createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z",
	}, created); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	asks := resultOf(t, taskCall(t, two, canTaskForm, "tasks/get", ""))
	requests := asks["inputRequests"].(map[string]any)
	if asks["status"] != "input_required" || len(requests) != 1 || requests[questionID] == nil {
		t.Errorf("%v", asks)
	}
	updated := resultOf(t, taskCall(t, one, canTaskForm, "tasks/update", `,"inputResponses":{`+accepted+`}`))
	if updated["resultType"] != "complete" || !strings.Contains(api.asked(), `"content":{"region":"eu"}`) {
		t.Errorf("%v after %s", updated, api.asked())
	}
	done := resultOf(t, taskCall(t, two, canTaskForm, "tasks/get", ""))
	result, _ := done["result"].(map[string]any)
	if done["status"] != "completed" || result["isError"] != false || result["resultType"] != "complete" ||
		!strings.Contains(fmt.Sprint(result["structuredContent"]), "get_credentials") {
		t.Errorf("%v", done)
	}
	for _, headers := range api.headers {
		if headers.Get("Authorization") != "Bearer prov_agent_test" {
			t.Errorf("headers %v", headers)
		}
	}
}

// Questions that stand at the start are asked first, where the client shows forms; the task follows.
func TestFormBeforeTask(t *testing.T) {
	t.Parallel()
	api := newRecorder()
	api.set("POST /v1/instances", http.StatusAccepted, jobBody("awaiting_input"))
	api.after[answerRoute] = func() { api.set(jobRoute, http.StatusOK, jobBody("pending")) }
	handler := newFacade(t, api)
	const start = `"service":"postgres","plan":"small","name":"orders"`
	asked := resultOf(t, callTool(t, handler, canTaskForm, "start_provision", start, ""))
	if asked["resultType"] != "input_required" || asked["taskId"] != nil {
		t.Fatalf("%v", asked)
	}
	started := resultOf(t, callTool(t, handler, canTaskForm, "start_provision", start, retry(t, asked["requestState"], accepted)))
	if started["resultType"] != "task" || started["taskId"] != jobID {
		t.Errorf("%v", started)
	}
}

func TestTaskOfEachState(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]struct {
		status  string
		isError any // nil: no result
	}{
		"pending": {"working", nil}, "awaiting_input": {"input_required", nil}, "succeeded": {"completed", false},
		"failed": {"completed", true}, "canceled": {"cancelled", nil},
	} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			api := newRecorder()
			api.set(jobRoute, http.StatusOK, jobBody(state))
			got := resultOf(t, taskCall(t, newFacade(t, api), canTasks, "tasks/get", ""))
			result, _ := got["result"].(map[string]any)
			if got["status"] != want.status || result["isError"] != want.isError {
				t.Errorf("%v", got)
			}
			// A person reads the message.
			message := got["statusMessage"].(string)
			if message == "" || strings.Contains(message, "get_") || strings.Contains(message, "answer_question") {
				t.Errorf("status message %q", message)
			}
			// Nothing is asked of a client that cannot be asked; its user is told where to answer.
			if state == "awaiting_input" {
				requests, ok := got["inputRequests"].(map[string]any)
				if !ok || len(requests) != 0 || !strings.Contains(message, "Which? (answer at http://127.0.0.1/answer/"+questionID) {
					t.Errorf("%v", got)
				}
			}
		})
	}
}

func TestWhatIsNoTask(t *testing.T) {
	t.Parallel()
	const start = `"service":"postgres","plan":"small"`
	for name, tt := range map[string]struct{ can, tool, arguments, more, want string }{
		"not declared":      {`{}`, "start_provision", start, "", `"resultType":"complete"`},
		"legacy parameter":  {`{}`, "start_provision", start, `,"task":{"ttl":1000}`, `"resultType":"complete"`},
		"another tool":      {canTasks, "get_job", theJob, "", `"resultType":"complete"`},
		"missing argument":  {canTasks, "start_provision", `"service":"postgres"`, "", `is required`},
		"unknown argument":  {canTasks, "start_provision", start + `,"size":1`, "", `"isError":true`},
		"secret":            {canTasks, "start_provision", start + `,"answers":{"password":"x"}`, "", `secret_not_allowed`},
		"odd ID":            {canTasks, "deprovision_instance", `"instance_id":".."`, "", `must match`},
		"refused by API":    {canTasks, "deprovision_instance", `"instance_id":"inst_01h455vb4pex5vsknk084sn02z"`, "", `not_found`},
		"check of a start":  {canTasks, "start_provision", start + `,"validate_only":true`, "", `"valid"`},
		"a deletion is one": {canTasks, "deprovision_instance", `"instance_id":"` + instanceID + `"`, "", `"resultType":"task"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newRecorder()
			if strings.Contains(tt.arguments, "validate_only") {
				api.set("POST /v1/instances", http.StatusOK, `{"valid":true,"blockers":[],"questions":[]}`)
			}
			got := callTool(t, newFacade(t, api), tt.can, tt.tool, tt.arguments, tt.more)
			if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), tt.want) || !strings.Contains(got.Body.String(), `"resultType"`) {
				t.Errorf("%d %s, want %s", got.Code, got.Body, tt.want)
			}
		})
	}
}

func TestTaskRefusals(t *testing.T) {
	t.Parallel()
	get := rpc{version: modern, method: "tasks/get", can: canTasks, params: `"taskId":"` + jobID + `"`, header: map[string]string{"Mcp-Name": jobID}}
	with := func(change func(*rpc)) rpc {
		q := get
		change(&q)
		return q
	}
	const other = "job_01h455vb4pex5vsknk084sn02z"
	update := func(q *rpc) {
		q.method, q.can = "tasks/update", canTaskForm
		q.params += `,"inputResponses":{` + accepted + `}`
	}
	cancel := func(q *rpc) { q.method = "tasks/cancel" }
	for name, tt := range map[string]struct {
		ask    rpc
		status int
		text   string
		route  string
		answer answer
	}{
		"not declared":   {ask: with(func(q *rpc) { q.can = `{}` }), status: 400, text: `"code":-32021`},
		"no Mcp-Name":    {ask: with(func(q *rpc) { q.header = nil }), status: 400, text: `"code":-32020`},
		"wrong Mcp-Name": {ask: with(func(q *rpc) { q.header = map[string]string{"Mcp-Name": other} }), status: 400, text: `"code":-32020`},
		"encoded Mcp-Name": {ask: with(func(q *rpc) {
			q.header = map[string]string{"Mcp-Name": "=?base64?am9iXzAxaDQ1NXZiNHBleDV2c2tuazA4NHNuMDJx?="}
		}), status: 200, text: `"input_required"`},
		"unknown": {
			ask:    with(func(q *rpc) { q.params, q.header = `"taskId":"`+other+`"`, map[string]string{"Mcp-Name": other} }),
			status: 400, text: `unknown task`,
		},
		"odd ID": {
			ask: with(func(q *rpc) {
				q.params, q.header = `"taskId":"../instances"`, map[string]string{"Mcp-Name": "../instances"}
			}),
			status: 400, text: `unknown task`,
		},
		"no version header": {
			ask:    with(func(q *rpc) { q.header = map[string]string{"Mcp-Name": jobID, "Mcp-Protocol-Version": ""} }),
			status: 400, text: `"code":-32020`,
		},
		"wrong Mcp-Method": {
			ask:    with(func(q *rpc) { q.header = map[string]string{"Mcp-Name": jobID, "Mcp-Method": "tasks/cancel"} }),
			status: 400, text: `"code":-32020`,
		},
		"no ID":       {ask: with(func(q *rpc) { q.params, q.header = "", nil }), status: 400, text: `unknown task`},
		"wrong types": {ask: with(func(q *rpc) { q.params += `,"inputResponses":7`; q.method = "tasks/update" }), status: 400, text: "-32602"},
		"no right": {
			ask: get, status: 400, text: "insufficient_scope", route: jobRoute,
			answer: answer{403, problemBody(403, "insufficient_scope", "")},
		},
		"API away": {ask: get, status: 200, text: "-32603", route: jobRoute, answer: answer{500, problemBody(500, "internal", "")}},
		"invalid answer": {
			ask: with(update), status: 400, text: "/content/region", route: answerRoute,
			answer: answer{422, problemBody(422, "invalid_request", `,"errors":[{"pointer":"/content/region","detail":"d"}]`)},
		},
		"answered already": {
			ask: with(update), status: 200, text: `"resultType":"complete"`, route: answerRoute,
			answer: answer{409, problemBody(409, "question_already_answered", "")},
		},
		"odd response": {ask: with(func(q *rpc) {
			q.method = "tasks/update"
			q.params += `,"inputResponses":{"other":{"ignored":true},"` + questionID + `":7}`
		}), status: 200, text: `"resultType":"complete"`},
		"cancel": {ask: with(cancel), status: 200, text: `"resultType":"complete"`},
		"cancel when over": {
			ask: with(cancel), status: 200, text: `"resultType":"complete"`, route: "POST /v1/jobs/" + jobID + "/cancel",
			answer: answer{409, problemBody(409, "job_finished", "")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newRecorder()
			if tt.route != "" {
				api.set(tt.route, tt.answer.status, tt.answer.body)
			}
			got := send(t, newFacade(t, api), tt.ask)
			if got.Code != tt.status || !strings.Contains(got.Body.String(), tt.text) {
				t.Errorf("%d %s, want %d with %s", got.Code, got.Body, tt.status, tt.text)
			}
		})
	}
}

// A driver's panic is an error of the protocol, as a tool's is. The facts go along.
func TestTaskOfAPanic(t *testing.T) {
	t.Parallel()
	api := newRecorder()
	api.set(jobRoute, http.StatusOK, strings.Replace(jobBody("failed"), `"leftovers"`,
		`"error":{"code":"provider_panic","message":"The driver failed.","retryable":false},"leftovers"`, 1))
	got := resultOf(t, taskCall(t, newFacade(t, api), canTasks, "tasks/get", ""))
	why, _ := got["error"].(map[string]any)
	if got["status"] != "failed" || got["result"] != nil || why["code"] != -32603.0 || why["message"] != "The driver failed." {
		t.Errorf("%v", got)
	}
	if facts, _ := why["data"].(map[string]any); facts["id"] != jobID || facts["next_step"] == nil {
		t.Errorf("facts %v", facts)
	}
}
