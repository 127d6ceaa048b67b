package e2e_test

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/provisiond/provisiond/client"
)

// agent calls MCP tools.
type agent interface {
	// call returns the tool's structured content, or the text of its error with false.
	call(t *testing.T, tool string, arguments object) (json.RawMessage, bool)
}

// protocolVersions are those that a client may speak.
var protocolVersions = []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

func TestWholeLifeThroughMCPWithReplicaKilledBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{apis: 3})
	agents := map[string]func(t *testing.T) agent{
		"without SDK": func(*testing.T) agent { return &rawAgent{c: c} },
	}
	for _, version := range protocolVersions {
		agents["SDK "+version] = func(t *testing.T) agent { return connectAgent(t, c, version) }
	}
	for name, connect := range agents {
		t.Run(name, func(t *testing.T) {
			c.balancer.served()
			a := connect(t)
			var asked *replica
			instanceID := liveThroughMCP(t, c, a, func() {
				record := c.balancer.served()
				asked = c.apis[record[len(record)-1].replica]
				mustAlternate(t, append(record, served{replica: -1}))
				asked.kill()
			})
			mustAlternate(t, c.balancer.served())
			c.mustHaveNone(t, "postgres", instanceID)
			asked.start(t)
		})
	}
}

// liveThroughMCP lets an agent make, use and delete a database. asked is called between the question and
// its answer.
func liveThroughMCP(t *testing.T, c *cluster, a agent, asked func()) (instanceID string) {
	t.Helper()
	job := callJob(t, a, "start_provision", object{"service": "postgres", "plan": "small"})
	asked()
	job = callJob(t, a, "answer_question", object{
		"job_id": job.ID, "question_id": openQuestion(t, job, "region").ID,
		"action": "accept", "content": object{"region": "eu"},
	})
	liveOnThroughMCP(t, c, a, job)
	return job.InstanceID
}

// liveOnThroughMCP is the life after the answer.
func liveOnThroughMCP(t *testing.T, c *cluster, a agent, job *client.Job) {
	t.Helper()
	job = callUntilDone(t, a, job)
	useDatabase(t, callCredentials(t, a, *job.BindingID))
	job = callJob(t, a, "deprovision_instance", object{"instance_id": job.InstanceID})
	if job.State == client.JobStateAwaitingInput { // the plan wants a person's confirmation
		c.confirmDeletion(t, job)
		job = callJob(t, a, "get_job", object{"job_id": job.ID})
	}
	callUntilDone(t, a, job)
}

// TestWholeLifeWithFormThroughMCP lets the SDK show the question as a form and repeat the call by itself.
func TestWholeLifeWithFormThroughMCP(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{})
	var forms atomic.Int32
	a := connectAgentWith(t, c, "2026-07-28", &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			forms.Add(1)
			return &mcp.ElicitResult{Action: "accept", Content: object{"region": "eu"}}, nil
		},
	})
	job := callJob(t, a, "start_provision", object{"service": "postgres", "plan": "small", "name": "shop"})
	if n := forms.Load(); n != 1 || job.State == client.JobStateAwaitingInput {
		t.Fatalf("%d forms were shown and the job is %s, want one form, answered", n, job.State)
	}
	liveOnThroughMCP(t, c, a, job)
	mustAlternate(t, c.balancer.served())
	c.mustHaveNone(t, "postgres", job.InstanceID)
}

// callJob calls a tool that answers with a job.
func callJob(t *testing.T, a agent, tool string, arguments object) *client.Job {
	t.Helper()
	content, ok := a.call(t, tool, arguments)
	var job client.Job
	if !ok {
		t.Fatalf("%s: %s", tool, content)
	}
	if err := json.Unmarshal(content, &job); err != nil || job.ID == "" {
		t.Fatalf("%s: not a job (%v): %s", tool, err, content)
	}
	return &job
}

// callUntilDone polls as an agent does.
func callUntilDone(t *testing.T, a agent, job *client.Job) *client.Job {
	t.Helper()
	for ctx := patient(t); job.State == client.JobStatePending && ctx.Err() == nil; {
		job = callJob(t, a, "get_job", object{"job_id": job.ID, "wait_seconds": 20})
	}
	if job.State != client.JobStateSucceeded {
		t.Fatalf("job is %s, error %+v", job.State, job.Error)
	}
	return job
}

func callCredentials(t *testing.T, a agent, bindingID string) map[string]string {
	t.Helper()
	content, ok := a.call(t, "get_credentials", object{"binding_id": bindingID})
	var credentials client.Credentials
	if !ok || json.Unmarshal(content, &credentials) != nil {
		t.Fatalf("get_credentials: %s", content)
	}
	return credentials.Credentials
}

// sdkAgent is the Go SDK's client.
type sdkAgent struct{ session *mcp.ClientSession }

func connectAgent(t *testing.T, c *cluster, version string) agent {
	t.Helper()
	return connectAgentWith(t, c, version, nil)
}

func connectAgentWith(t *testing.T, c *cluster, version string, opts *mcp.ClientOptions) agent {
	t.Helper()
	transport := &mcp.StreamableClientTransport{
		Endpoint:             c.balancer.URL + "/mcp",
		HTTPClient:           &http.Client{Transport: withKey(c.agent)},
		DisableStandaloneSSE: true, // a request beside the others, at no known moment
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, opts).
		Connect(patient(t), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connect with version %s: %v", version, err)
	}
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("version %s was negotiated, want %s", got, version)
	}
	t.Cleanup(func() { _ = session.Close() })
	return &sdkAgent{session}
}

// withKey is a transport that sends an API key along.
func withKey(key string) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+key)
		return http.DefaultTransport.RoundTrip(r)
	})
}

func (a *sdkAgent) call(t *testing.T, tool string, arguments object) (json.RawMessage, bool) {
	t.Helper()
	result, err := a.session.CallTool(patient(t), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if result.IsError {
		return json.RawMessage(result.Content[0].(*mcp.TextContent).Text), false
	}
	content, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return content, true
}

// rawAgent posts JSON-RPC as a client without a session does, with the header of one from long ago.
type rawAgent struct {
	c    *cluster
	last int
}

func (a *rawAgent) call(t *testing.T, tool string, arguments object) (json.RawMessage, bool) {
	t.Helper()
	a.last++
	body, err := json.Marshal(object{
		"jsonrpc": "2.0", "id": a.last, "method": "tools/call",
		"params": object{"name": tool, "arguments": arguments},
	})
	if err != nil {
		t.Fatal(err)
	}
	resp := a.c.do(t, http.MethodPost, "/mcp", string(body), http.Header{
		"Accept":               {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2025-06-18"},
		"Mcp-Session-Id":       {"stale"},
	})
	var answer struct {
		ID     int
		Result struct {
			StructuredContent json.RawMessage
			Content           []struct{ Text string }
			IsError           bool
		}
	}
	if err := json.Unmarshal([]byte(resp.body), &answer); err != nil || resp.status != http.StatusOK || answer.ID != a.last {
		t.Fatalf("%s: %d (%v) %s", tool, resp.status, err, resp.body)
	}
	if answer.Result.IsError {
		return json.RawMessage(answer.Result.Content[0].Text), false
	}
	return answer.Result.StructuredContent, true
}

func TestReplicasKilledBetweenQuestionAndAnswerFailNoCall(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{workers: 1})
	a := connectAgent(t, c, protocolVersions[len(protocolVersions)-1])
	for range rounds(10, 1000) {
		c.balancer.served()
		job := callJob(t, a, "start_provision", object{
			"service": "sandbox", "plan": "tunable", "parameters": object{"questions": []object{colour("colour", 1)}},
		})
		job = callUntilAsked(t, a, job)
		record := c.balancer.served()
		asked := c.apis[record[len(record)-1].replica]
		asked.kill()
		job = callJob(t, a, "answer_question", object{
			"job_id": job.ID, "question_id": openQuestion(t, job, "colour").ID,
			"action": "accept", "content": object{"colour": "red"},
		})
		callUntilDone(t, a, job)
		asked.start(t)
	}
}

func callUntilAsked(t *testing.T, a agent, job *client.Job) *client.Job {
	t.Helper()
	for ctx := patient(t); job.State == client.JobStatePending && ctx.Err() == nil; {
		job = callJob(t, a, "get_job", object{"job_id": job.ID, "wait_seconds": 20})
	}
	return job
}

// colour is a question of the sandbox's, asked after so many steps.
func colour(name string, afterStep int) object {
	return object{
		"name": name, "message": "Which colour?", "after_step": afterStep,
		"schema": object{"type": "object", "required": []string{name}, "properties": object{name: object{"type": "string"}}},
	}
}
