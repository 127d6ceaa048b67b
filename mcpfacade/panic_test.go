package mcpfacade

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A bug in a tool answers -32603, and the server goes on.
func TestPanicOfAToolKillsNothing(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	cfg := Config{API: http.NotFoundHandler(), Logger: slog.New(slog.NewTextHandler(&log, nil))}
	f, err := newFacade(cfg, "")
	if err != nil {
		t.Fatal(err)
	}
	o, err := f.newOffer(serverOptions(), "", false)
	if err != nil {
		t.Fatal(err)
	}
	o.server.AddTool(&mcp.Tool{Name: "boom", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("canary") })
	choose := func(*http.Request) *offer { return o }
	handler, err := guard(cfg, envelope(streamable(choose, streamableOptions()), choose))
	if err != nil {
		t.Fatal(err)
	}

	for range 2 {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp",
			strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"boom","arguments":{}}}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "*/*")
		r.Header.Set("Authorization", "Bearer key")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if !strings.Contains(w.Body.String(), "-32603") || strings.Contains(w.Body.String(), "canary") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if !strings.Contains(log.String(), "panic_test.go") || strings.Contains(log.String(), "canary") {
		t.Errorf("the log must hold the stack without the value: %s", log.String())
	}
}
