//go:build interop

package e2e_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestInteropCurl speaks each version of the protocol as a person with curl would, without a session.
func TestInteropCurl(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{})
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := c.anotherBalancer(t)
			a := &curlAgent{url: b.URL + "/mcp", version: version, key: keyHeader(t, c)}
			if !a.modern() {
				a.initialize(t)
			}
			instanceID := liveThroughMCP(t, c, a, func() {})
			mustUseAll(t, c, b.served())
			c.mustHaveNone(t, "postgres", instanceID)
		})
	}
}

// TestInteropCurlAnswersForm is the multi round-trip by hand: the same call again with the state and
// the answer, which another replica gets.
func TestInteropCurlAnswersForm(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{})
	a := &curlAgent{url: c.balancer.URL + "/mcp", version: "2026-07-28", key: keyHeader(t, c), forms: true}
	job := callJob(t, a, "start_provision", object{"service": "postgres", "plan": "small", "name": "shop"})
	liveOnThroughMCP(t, c, a, job)
	mustAlternate(t, c.balancer.served())
	c.mustHaveNone(t, "postgres", job.InstanceID)
}

// keyHeader is a file with the header that has the agent's key: a command line is for all to see.
func keyHeader(t *testing.T, c *cluster) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "header")
	if err := os.WriteFile(name, []byte("Authorization: Bearer "+c.agent+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// curlAgent is a person with curl.
type curlAgent struct {
	url     string
	version string
	key     string // file
	forms   bool   // declares forms, and accepts the one for the region
	last    int
}

// curlAnswer is an answer of any kind.
type curlAnswer struct {
	ID     int
	Result struct {
		ProtocolVersion string
		Content         []struct{ Text string }
		IsError         bool
		RequestState    string
		InputRequests   map[string]json.RawMessage
	}
}

func (a *curlAgent) modern() bool { return a.version >= "2026-07-28" }

func (a *curlAgent) initialize(t *testing.T) {
	t.Helper()
	answer := a.request(t, "initialize", object{
		"protocolVersion": a.version, "capabilities": object{}, "clientInfo": object{"name": "curl", "version": "1"},
	})
	if got := answer.Result.ProtocolVersion; got != a.version {
		t.Fatalf("version %s was negotiated, want %s", got, a.version)
	}
	if out := a.post(t, object{"jsonrpc": "2.0", "method": "notifications/initialized"}); len(out) > 0 {
		t.Errorf("notifications/initialized: %s, want no body", out)
	}
}

// call takes the facts from the text: versions before 2025-06-18 know no structured content.
func (a *curlAgent) call(t *testing.T, tool string, arguments object) (json.RawMessage, bool) {
	t.Helper()
	params := object{"name": tool, "arguments": arguments}
	answer := a.request(t, "tools/call", params)
	if asked := answer.Result.InputRequests; asked != nil {
		responses := object{}
		for id := range asked {
			responses[id] = object{"action": "accept", "content": object{"region": "eu"}}
		}
		params["inputResponses"], params["requestState"] = responses, answer.Result.RequestState
		answer = a.request(t, "tools/call", params)
	}
	if len(answer.Result.Content) != 1 {
		t.Fatalf("%s: %+v, want one text", tool, answer)
	}
	return json.RawMessage(answer.Result.Content[0].Text), !answer.Result.IsError
}

// request returns the answer to a request, which must be a result.
func (a *curlAgent) request(t *testing.T, method string, params object) curlAnswer {
	t.Helper()
	a.last++
	if a.modern() {
		can := object{}
		if a.forms {
			can["elicitation"] = object{"form": object{}}
		}
		params["_meta"] = object{
			"io.modelcontextprotocol/protocolVersion":    a.version,
			"io.modelcontextprotocol/clientInfo":         object{"name": "curl", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": can,
		}
	}
	out := a.post(t, object{"jsonrpc": "2.0", "id": a.last, "method": method, "params": params}, a.headers(method, params)...)
	var answer curlAnswer
	if err := json.Unmarshal(out, &answer); err != nil || answer.ID != a.last {
		t.Fatalf("%s: (%v) %s", method, err, out)
	}
	return answer
}

// headers are those that the version wants. The first two versions know none.
func (a *curlAgent) headers(method string, params object) []string {
	var headers []string
	if a.version >= "2025-06-18" && method != "initialize" {
		headers = append(headers, "MCP-Protocol-Version: "+a.version)
	}
	if a.modern() {
		headers = append(headers, "Mcp-Method: "+method, "Mcp-Name: "+params["name"].(string))
	}
	return headers
}

// post runs curl, which must succeed, and returns the body of the answer.
func (a *curlAgent) post(t *testing.T, message object, headers ...string) []byte {
	t.Helper()
	body, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{
		"--silent", "--show-error", "--fail-with-body", "--data-binary", "@-", "--header", "@" + a.key,
		"--header", "Content-Type: application/json", "--header", "Accept: application/json, text/event-stream",
	}
	for _, header := range headers {
		args = append(args, "--header", header)
	}
	cmd := exec.CommandContext(patient(t), "curl", append(args, a.url)...)
	cmd.Stdin = bytes.NewReader(body)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("curl: %v: %s%s", err, stderr.String(), out)
	}
	return out
}
