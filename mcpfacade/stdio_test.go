package mcpfacade_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/provisiond/provisiond/mcpfacade"
)

func TestStdio(t *testing.T) {
	t.Parallel()
	api := newRecorder().settles()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- mcpfacade.ServeStdio(t.Context(), mcpfacade.Config{BaseURL: server.URL}, "prov_agent_stdio", in, out)
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"region": "eu"}}, nil
		},
	})
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, isError := use(t, session, "get_job", map[string]any{"job_id": jobID})
	if isError || got["state"] != "succeeded" {
		t.Errorf("the form was not answered: %v", got)
	}
	if authorization := api.headers[0].Get("Authorization"); authorization != "Bearer prov_agent_stdio" {
		t.Errorf("Authorization %q", authorization)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	_ = toServer.Close()
	if err := <-served; err != nil {
		t.Errorf("after the end of the input: %v", err)
	}
}

// Raw lines, in any order.
func TestStdioLines(t *testing.T) {
	t.Parallel()
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + canTasks + `}`
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- mcpfacade.ServeStdio(t.Context(), mcpfacade.Config{API: newRecorder()}, "k", in, out)
	}()
	answers := bufio.NewReader(fromServer)
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"` + jobID + `",` + meta + `}}`:                          `"status":"input_required"`,
		`{"jsonrpc":"2.0","id":2,"method":"prompts/list","params":{` + meta + `}}`:                                                `-32601`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"cancel_job","arguments":{` + theJob + `},` + meta + `}}`: `"state":"canceled"`,
	} {
		if _, err := io.WriteString(toServer, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := answers.ReadString('\n'); err != nil || !strings.Contains(got, want) {
			t.Errorf("%v, no %s in %s", err, want, got)
		}
	}
	_ = toServer.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// A host may say all it has to say and close its end at once, as a pipe in a shell does.
func TestStdioAnswersWhatItReadBeforeTheEnd(t *testing.T) {
	t.Parallel()
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":"three","method":"tools/call","params":{"name":"get_job","arguments":{` + theJob + `}}}
{"jsonrpc":"2.0","id":4,"method":"fly"}`
	var out bytes.Buffer
	if err := mcpfacade.ServeStdio(t.Context(), mcpfacade.Config{API: newRecorder()}, "k", strings.NewReader(in), &out); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`"id":1,"result"`, `"id":2,"result"`, `"id":"three","result"`, `"id":4,"error"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, out.String())
		}
	}
}

// Malformed lines are answered, and the process goes on.
func TestStdioSurvivesMalformedLines(t *testing.T) {
	t.Parallel()
	in := "garbage\n\n{}\r\n[]\n\"x\"\n" + `{"jsonrpc":"1.0","id":1,"method":"ping"}` + "\n" +
		strings.Repeat("x", 2<<20) + "\n" + `{"jsonrpc":"2.0","id":"last","method":"ping"}`
	var out bytes.Buffer
	if err := mcpfacade.ServeStdio(t.Context(), mcpfacade.Config{API: newRecorder()}, "k", strings.NewReader(in), &out); err != nil {
		t.Error(err)
	}
	for want, times := range map[string]int{`"code":-32700`: 1, `"code":-32600`: 5, `"id":1,"jsonrpc"`: 1, `"id":"last","result"`: 1} {
		if n := strings.Count(out.String(), want); n != times {
			t.Errorf("%d times %s in %s", n, want, out.String())
		}
	}
}

func TestStdioEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	in, keepOpen := io.Pipe()
	t.Cleanup(func() { _ = keepOpen.Close() })
	served := make(chan error, 1)
	go func() {
		served <- mcpfacade.ServeStdio(ctx, mcpfacade.Config{API: newRecorder()}, "k", in, io.Discard)
	}()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := mcpfacade.ServeStdio(t.Context(), mcpfacade.Config{API: newRecorder()}, "", in, io.Discard); err == nil {
		t.Error("no error without a key")
	}
}
