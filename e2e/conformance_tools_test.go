//go:build interop

package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync/atomic"
	"testing"
)

// The suite calls tools with names of its own. Each is translated into a call of the product's tools that
// does what the suite wants to see, so that the product itself is tested and not a server made for the test.

// toolCall is a call of one of the product's tools.
type toolCall struct {
	tool      string
	arguments object
}

// translator translates the suite's calls. It is safe for concurrent use.
type translator struct {
	calls map[string]toolCall
	// starts counts the starts: each has a name of its own, and a repeat with a requestState that of the start.
	starts atomic.Int64
}

// newTranslator gets a job that asks in two rounds.
func newTranslator(roundsJobID string) *translator {
	start := func(plan string) toolCall {
		return toolCall{"start_provision", object{"service": "conformance", "plan": plan}}
	}
	return &translator{calls: map[string]toolCall{
		"greet":               {"list_services", object{}},
		"test_simple_text":    {"list_services", object{}},
		"test_logging_tool":   {"list_services", object{}},
		"test_error_handling": {"get_job", object{"job_id": "job_01h455vb4pex5vsknk084sn02q"}},

		"slow_compute":        start("working"),
		"failing_job":         start("failing"),
		"confirm_delete":      start("confirming"),
		"multi_input":         start("confirming-twice"),
		"test_tool_with_task": start("named"),

		"test_streaming_elicitation":                start("named"),
		"test_input_required_result_elicitation":    start("named"),
		"test_input_required_result_request_state":  start("agreed"),
		"test_input_required_result_tampered_state": start("agreed"),
		"test_input_required_result_multi_round":    {"get_job", object{"job_id": roundsJobID, "wait_seconds": 20}},
	}}
}

// startRounds starts the job for the scenario of two rounds: get_job alone waits for the second question.
func (c *cluster) startRounds(t *testing.T) string {
	t.Helper()
	return callJob(t, &rawAgent{c: c}, "start_provision", object{"service": "conformance", "plan": "named-then-coloured"}).ID
}

// translate changes a call of a tool of the suite's, and leaves all else as it is.
func (tr *translator) translate(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if body, err = tr.body(r.Header, body); err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return nil
}

func (tr *translator) body(header http.Header, body []byte) ([]byte, error) {
	message, params, name := parseToolCall(body)
	call, ok := tr.calls[name]
	if !ok {
		return body, nil
	}
	if header.Get("Mcp-Name") == name {
		header.Set("Mcp-Name", call.tool)
	}
	arguments, err := tr.arguments(call, params)
	if err != nil {
		return nil, err
	}
	if err := setJSON(params, "name", call.tool); err != nil {
		return nil, err
	}
	if err := setJSON(params, "arguments", arguments); err != nil {
		return nil, err
	}
	if err := setJSON(message, "params", params); err != nil {
		return nil, err
	}
	return json.Marshal(message)
}

// parseToolCall gives the tool's name, which is empty for any other message.
func parseToolCall(body []byte) (message, params map[string]json.RawMessage, name string) {
	if json.Unmarshal(body, &message) == nil && string(message["method"]) == `"tools/call"` &&
		json.Unmarshal(message["params"], &params) == nil {
		_ = json.Unmarshal(params["name"], &name) // What is no string is left to the server to judge.
	}
	return message, params, name
}

func (tr *translator) arguments(call toolCall, params map[string]json.RawMessage) (object, error) {
	if call.tool != "start_provision" {
		return call.arguments, nil
	}
	if _, again := params["requestState"]; !again {
		tr.starts.Add(1)
	}
	arguments := object{"name": fmt.Sprint("conformance-", tr.starts.Load())}
	maps.Copy(arguments, call.arguments)
	var given struct{ Seconds *int }
	if err := json.Unmarshal(params["arguments"], &given); err != nil {
		return nil, err
	}
	if given.Seconds != nil {
		arguments["parameters"] = object{"duration": fmt.Sprint(*given.Seconds, "s")}
	}
	return arguments, nil
}

func setJSON(in map[string]json.RawMessage, key string, value any) error {
	encoded, err := json.Marshal(value)
	in[key] = encoded
	return err
}
