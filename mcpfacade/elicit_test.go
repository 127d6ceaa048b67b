package mcpfacade_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	canForm = `{"elicitation":{"form":{}}}`
	canURL  = `{"elicitation":{"url":{}}}`
	canBoth = `{"elicitation":{"form":{},"url":{}}}`
)

// callTool is a raw call in the newest version by a client with the given capabilities.
func callTool(t *testing.T, handler http.Handler, can, tool, arguments, more string) *httptest.ResponseRecorder {
	t.Helper()
	return send(t, handler, rpc{
		version: modern, method: "tools/call", can: can, header: map[string]string{"Mcp-Name": tool},
		params: fmt.Sprintf(`"name":%q,"arguments":{%s}%s`, tool, arguments, more),
	})
}

const theJob = `"job_id":"` + jobID + `"`

// resultOf is the result of a raw answer.
func resultOf(t *testing.T, got *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	result, ok := decodeObject(t, got.Body.Bytes())["result"].(map[string]any)
	if !ok {
		t.Fatalf("no result: %d %s", got.Code, got.Body)
	}
	return result
}

// isPlain tells whether a result is an ordinary one, with its facts in both forms.
func isPlain(result map[string]any) bool {
	return result["resultType"] == "complete" && result["structuredContent"] != nil && result["inputRequests"] == nil
}

func TestWhatIsAskedDependsOnTheCaller(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		version, can, arguments string
		want                    map[string]string // the mode by question
	}{
		"form":              {modern, canForm, theJob, map[string]string{questionID: "form"}},
		"empty is form":     {modern, `{"elicitation":{}}`, theJob, map[string]string{questionID: "form"}},
		"both":              {modern, canBoth, theJob, map[string]string{questionID: "form", secretID: "url"}},
		"page only":         {modern, canURL, theJob, map[string]string{questionID: "url", secretID: "url"}},
		"none":              {modern, `{}`, theJob, nil},
		"asked for as data": {modern, canBoth, theJob + `,"elicit":false`, nil},
		"earlier version":   {"2025-11-25", canBoth, theJob, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := send(t, newFacade(t, newRecorder()), rpc{
				version: tt.version, method: "tools/call", can: tt.can, header: map[string]string{"Mcp-Name": "get_job"},
				params: `"name":"get_job","arguments":{` + tt.arguments + `}`,
			})
			result := resultOf(t, got)
			var modes map[string]string
			if requests, ok := result["inputRequests"].(map[string]any); ok {
				modes = map[string]string{}
				for id, raw := range requests {
					params := raw.(map[string]any)["params"].(map[string]any)
					modes[id] = params["mode"].(string)
					if (params["mode"] == "url") != (params["url"] == "http://127.0.0.1/answer/"+id) {
						t.Errorf("question %s: %v", id, params)
					}
				}
			}
			if diff := cmp.Diff(tt.want, modes); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if wantType := map[bool]any{true: "input_required", false: result["resultType"]}[tt.want != nil]; result["resultType"] != wantType {
				t.Errorf("resultType %v", result["resultType"])
			}
			if tt.want == nil && !strings.Contains(fmt.Sprint(result["structuredContent"]), "answer_question") {
				t.Errorf("the plain way is not told: %v", result)
			}
		})
	}
}

// retry repeats a call with its state and responses.
func retry(t *testing.T, state any, responses string) string {
	t.Helper()
	encoded, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`,"requestState":%s,"inputResponses":{%s}`, encoded, responses)
}

const accepted = `"` + questionID + `":{"action":"accept","content":{"region":"eu"}}`

func TestAnswerByFormOnAnotherReplica(t *testing.T) {
	t.Parallel()
	api := newRecorder().settles()
	asked := resultOf(t, callTool(t, newFacade(t, api), canForm, "get_job", theJob+`,"wait_seconds":1`, ""))
	// The replica that asked is gone; the client orders the arguments its own way.
	answered := resultOf(t, callTool(t, newFacade(t, api), canForm, "get_job", `"wait_seconds":1,`+theJob, retry(t, asked["requestState"], accepted)))
	if !isPlain(answered) || answered["structuredContent"].(map[string]any)["state"] != "succeeded" {
		t.Errorf("%v", answered)
	}
	if !strings.Contains(api.asked(), `{"action":"accept","content":{"region":"eu"}}`) {
		t.Errorf("the API was asked: %s", api.asked())
	}
}

func TestActionsOfAForm(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ responses, sent, resultType string }{
		"decline":              {`"` + questionID + `":{"action":"decline"}`, `{"action":"decline"}`, "complete"},
		"dismissed unseen":     {`"` + questionID + `":{"action":"cancel"}`, "", "complete"},
		"none":                 {``, "", "input_required"},
		"unknown question":     {`"qst_01h455vb4pex5vsknk084sn09z":{"action":"accept","content":{"a":1}}`, "", "input_required"},
		"link opened":          {accepted + `,"` + secretID + `":{"action":"accept"}`, `"action":"accept"`, "complete"},
		"secret in a response": {`"` + secretID + `":{"action":"accept","content":{"password":"canary-secret"}}`, "", "input_required"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newRecorder()
			handler := newFacade(t, api)
			asked := resultOf(t, callTool(t, handler, canBoth, "get_job", theJob, ""))
			result := resultOf(t, callTool(t, handler, canBoth, "get_job", theJob, retry(t, asked["requestState"], tt.responses)))
			if name == "decline" || name == "dismissed unseen" { // The link is left to ask.
				result = resultOf(t, callTool(t, handler, canForm, "get_job", theJob, retry(t, asked["requestState"], tt.responses)))
			}
			if result["resultType"] != tt.resultType {
				t.Errorf("%v", result)
			}
			log := api.asked()
			if (tt.sent == "") == strings.Contains(log, "POST") || !strings.Contains(log, tt.sent) ||
				strings.Contains(log, "canary") || strings.Contains(log, "POST /v1/jobs/"+jobID+"/questions/"+secretID) {
				t.Errorf("the API was asked: %s", log)
			}
			if tt.resultType == "complete" && !strings.Contains(fmt.Sprint(result), "elicit false") {
				t.Errorf("the way on is not told: %v", result)
			}
		})
	}
}

// An answer that breaks the question's rules is asked for again, with the rule; the next one counts.
func TestWrongAnswerIsAskedForAgain(t *testing.T) {
	t.Parallel()
	api := newRecorder()
	api.set(answerRoute, 422, problemBody(422, "invalid_request", `,"errors":[{"pointer":"/content/region","detail":"must be one of eu, us"}]`))
	handler := newFacade(t, api)
	asked := resultOf(t, callTool(t, handler, canForm, "get_job", theJob, ""))
	again := resultOf(t, callTool(t, handler, canForm, "get_job", theJob, retry(t, asked["requestState"], accepted)))
	text := fmt.Sprint(again["inputRequests"])
	if again["resultType"] != "input_required" || !strings.Contains(text, "region must be one of eu, us.") || !strings.Contains(text, "Which?") {
		t.Fatalf("%v", again)
	}
	api.set(answerRoute, http.StatusOK, jobBody("succeeded"))
	right := resultOf(t, callTool(t, handler, canForm, "get_job", theJob, retry(t, again["requestState"], accepted)))
	if !isPlain(right) || !strings.Contains(fmt.Sprint(right), "elicit false") {
		t.Errorf("%v", right)
	}
}

// Where the question is closed by the time it would be asked again, the job's state is the answer.
func TestWrongAnswerToAQuestionThatCloses(t *testing.T) {
	t.Parallel()
	api := newRecorder().settles()
	api.set(answerRoute, 422, problemBody(422, "invalid_request", `,"errors":[{"pointer":"/content","detail":"rule"}]`))
	handler := newFacade(t, api)
	asked := resultOf(t, callTool(t, handler, canForm, "get_job", theJob, ""))
	result := resultOf(t, callTool(t, handler, canForm, "get_job", theJob, retry(t, asked["requestState"], accepted)))
	if !isPlain(result) || result["structuredContent"].(map[string]any)["state"] != "succeeded" {
		t.Errorf("%v", result)
	}
}

func TestStateOfAnotherCallIsRefused(t *testing.T) {
	t.Parallel()
	api := newRecorder()
	handler := newFacade(t, api)
	state := resultOf(t, callTool(t, handler, canForm, "get_job", theJob, ""))["requestState"].(string)
	mine := retry(t, state, accepted)
	parts := strings.Split(state, ".")
	altered := func(i int, value string) string {
		changed := slices.Clone(parts)
		changed[i] = value
		return retry(t, strings.Join(changed, "."), accepted)
	}
	call := rpc{version: modern, method: "tools/call", can: canForm, header: map[string]string{"Mcp-Name": "get_job"}}
	for name, tt := range map[string]struct {
		bearer, tool, arguments, more string
	}{
		"other caller":    {"Bearer prov_agent_other", "get_job", theJob, mine},
		"other arguments": {"", "get_job", theJob + `,"wait_seconds":1`, mine},
		"other job":       {"", "get_job", `"job_id":"job_01h455vb4pex5vsknk084sn02z"`, mine},
		"other tool":      {"", "start_provision", `"service":"postgres","plan":"small"`, mine},
		"job in state":    {"", "get_job", theJob, altered(0, "job_01h455vb4pex5vsknk084sn02z")},
		"later expiry":    {"", "get_job", theJob, altered(1, "9999999999999999999")},
		"no MAC":          {"", "get_job", theJob, altered(2, "")},
		"bad MAC":         {"", "get_job", theJob, altered(2, "!")},
		"nonsense":        {"", "get_job", theJob, retry(t, "x", accepted)},
		"no state":        {"", "get_job", theJob, `,"inputResponses":{` + accepted + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := call
			q.params = fmt.Sprintf(`"name":%q,"arguments":{%s}%s`, tt.tool, tt.arguments, tt.more)
			q.header = map[string]string{"Mcp-Name": tt.tool}
			if tt.bearer != "" {
				q.header["Authorization"] = tt.bearer
			}
			got := send(t, handler, q)
			if got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), "-32602") {
				t.Errorf("%d %s", got.Code, got.Body)
			}
		})
	}
	t.Cleanup(func() {
		if strings.Contains(api.asked(), "POST") {
			t.Errorf("the API was asked: %s", api.asked())
		}
	})
}

func TestStateExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler := newFacade(t, newRecorder().settles())
		asked := resultOf(t, callTool(t, handler, canForm, "get_job", theJob, ""))
		more := retry(t, asked["requestState"], accepted)
		time.Sleep(59 * time.Minute) // Of the bubble's clock.
		if got := callTool(t, handler, canForm, "get_job", theJob, more); got.Code != http.StatusOK {
			t.Errorf("in time: %d %s", got.Code, got.Body)
		}
		time.Sleep(2 * time.Minute)
		if got := callTool(t, handler, canForm, "get_job", theJob, more); got.Code != http.StatusBadRequest {
			t.Errorf("too late: %d %s", got.Code, got.Body)
		}
	})
}

// A start asks at once only where the same call again would find the same job, and it asks once: the
// repeat by a host that dropped the form gets the questions as data.
func TestStartAsksOnce(t *testing.T) {
	t.Parallel()
	const start = `"service":"postgres","plan":"small"`
	for name, tt := range map[string]struct {
		arguments string
		status    int
		asks      bool
	}{
		"named":            {start + `,"name":"orders"`, 202, true},
		"with a key":       {start + `,"idempotency_key":"k1"`, 202, true},
		"again":            {start + `,"name":"orders"`, 200, false},
		"cannot be found":  {start, 202, false},
		"questions wanted": {start + `,"name":"orders","elicit":false`, 202, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newRecorder().settles()
			api.set("POST /v1/instances", tt.status, jobBody("awaiting_input"))
			handler := newFacade(t, api)
			result := resultOf(t, callTool(t, handler, canForm, "start_provision", tt.arguments, ""))
			if isPlain(result) == tt.asks {
				t.Fatalf("%v", result)
			}
			if !tt.asks {
				return
			}
			answered := resultOf(t, callTool(t, handler, canForm, "start_provision", tt.arguments, retry(t, result["requestState"], accepted)))
			if !isPlain(answered) || strings.Count(api.asked(), "POST /v1/instances ") != 1 {
				t.Errorf("%v after %s", answered, api.asked())
			}
		})
	}
}

// A client of the SDK shows the form by itself, though its requests alternate between two replicas. One
// without a handler goes on by tool.
func TestElicitationWithTheSDKOverTwoReplicas(t *testing.T) {
	t.Parallel()
	api := newRecorder().settles()
	replicas := []http.Handler{newFacade(t, api), newFacade(t, api)}
	var turn atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		replicas[turn.Add(1)%2].ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	var shown []string
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			shown = append(shown, req.Params.Message)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"region": "eu"}}, nil
		},
	})
	session, err := client.Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: server.URL, HTTPClient: &http.Client{Transport: bearer{}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	got, isError := use(t, session, "get_job", map[string]any{"job_id": jobID})
	if isError || got["state"] != "succeeded" || len(shown) != 1 || !strings.Contains(shown[0], jobID) {
		t.Errorf("%v after %q", slices.Collect(maps.Keys(got)), shown)
	}
}
