package e2e_test

import (
	"encoding/json"
	"net/http"
	"testing"
)

// TestReplicaKilledBetweenTaskCreationAndTasksGet takes away the replica that knows of a task, and then
// the one that has told its question. The two that are left must know both, and no call may fail.
func TestReplicaKilledBetweenTaskCreationAndTasksGet(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{apis: 3, workers: 1})
	host := &taskHost{c: c}
	for range rounds(5, 1000) {
		c.balancer.served()
		created := host.send(t, "tools/call", object{"name": "start_provision", "arguments": object{
			"service": "sandbox", "plan": "tunable", "parameters": object{"questions": []object{colour("colour", 0)}},
		}})
		if created.ResultType != "task" || created.TaskID == "" {
			t.Fatalf("start_provision: %+v, want a task", created)
		}
		first := c.killLastServed()

		asked := host.getUntil(t, created.TaskID, "input_required")
		second := c.killLastServed()

		host.send(t, "tasks/update", object{"taskId": created.TaskID, "inputResponses": answersWithRed(t, asked)})
		if done := host.getUntil(t, created.TaskID, "completed"); done.Result.IsError || done.Result.StructuredContent.State != "succeeded" {
			t.Fatalf("the task ended as %+v", done.Result)
		}
		for _, r := range []*replica{first, second} {
			r.launch(t)
		}
		for _, r := range []*replica{first, second} {
			r.awaitReady(t)
		}
	}
}

// killLastServed kills the API replica that served the last request.
func (c *cluster) killLastServed() *replica {
	record := c.balancer.served()
	r := c.apis[record[len(record)-1].replica]
	r.kill()
	return r
}

// answersWithRed accepts the only question that a task asks.
func answersWithRed(t *testing.T, asked taskResult) object {
	t.Helper()
	if len(asked.InputRequests) != 1 {
		t.Fatalf("asked: %v, want one question", asked.InputRequests)
	}
	answers := object{}
	for id := range asked.InputRequests {
		answers[id] = object{"action": "accept", "content": object{"colour": "red"}}
	}
	return answers
}

// taskHost is an MCP host that knows tasks and forms. It speaks without an SDK: that of Go has no tasks.
type taskHost struct {
	c    *cluster
	last int
}

// taskResult is the result of any of its requests.
type taskResult struct {
	ResultType    string
	TaskID        string
	Status        string
	InputRequests map[string]json.RawMessage
	Result        struct {
		IsError           bool
		StructuredContent struct{ State string }
	}
}

// send posts a request, which must succeed.
func (h *taskHost) send(t *testing.T, method string, params object) taskResult {
	t.Helper()
	h.last++
	name, ok := params["taskId"].(string)
	if !ok {
		name = params["name"].(string)
	}
	params["_meta"] = object{
		"io.modelcontextprotocol/protocolVersion": "2026-07-28",
		"io.modelcontextprotocol/clientInfo":      object{"name": "e2e", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": object{
			"elicitation": object{"form": object{}},
			"extensions":  object{"io.modelcontextprotocol/tasks": object{}},
		},
	}
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": h.last, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	resp := h.c.do(t, http.MethodPost, "/mcp", string(body), http.Header{
		"Accept":               {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"},
		"Mcp-Method":           {method},
		"Mcp-Name":             {name},
	})
	var answer struct {
		ID     int
		Result *taskResult
	}
	if err := json.Unmarshal([]byte(resp.body), &answer); err != nil || answer.Result == nil || answer.ID != h.last {
		t.Fatalf("%s: (%v) %s", method, err, resp)
	}
	return *answer.Result
}

// getUntil polls as a host does.
func (h *taskHost) getUntil(t *testing.T, taskID, status string) (got taskResult) {
	t.Helper()
	eventually(t, "the task is "+status, func() bool {
		got = h.send(t, "tasks/get", object{"taskId": taskID})
		return got.Status == status
	})
	return got
}
