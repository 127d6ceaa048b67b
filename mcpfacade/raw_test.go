package mcpfacade_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const modern = "2026-07-28"

var versions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", modern}

// rpc is one raw request to /mcp.
type rpc struct {
	version string
	method  string
	params  string // the object's inside
	can     string // the client's capabilities; "" is none
	header  map[string]string
	body    string // in place of method and params
	http    string
	ctx     context.Context
}

// send gives a request the headers and _meta of its protocol version.
func send(t testing.TB, handler http.Handler, q rpc) *httptest.ResponseRecorder {
	t.Helper()
	params := q.params
	if q.can == "" {
		q.can = "{}"
	}
	if q.version == modern {
		if params != "" {
			params += ","
		}
		params += fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":%s}`, modern, q.can)
	}
	body := q.body
	if body == "" {
		body = fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s}}`, q.method, params)
	}
	if q.http == "" {
		q.http = http.MethodPost
	}
	if q.ctx == nil {
		q.ctx = t.Context()
	}
	r := httptest.NewRequestWithContext(q.ctx, q.http, "http://127.0.0.1/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer prov_agent_test")
	if q.version != "" {
		r.Header.Set("Mcp-Protocol-Version", q.version)
	}
	if q.version == modern {
		r.Header.Set("Mcp-Method", q.method)
	}
	for name, value := range q.header {
		r.Header.Set(name, value)
		switch {
		case name == "Host":
			r.Host = value
		case value == "":
			r.Header.Del(name)
		}
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

const callGetJob = `"name":"get_job","arguments":{"job_id":"` + jobID + `"}`

func TestEveryVersion(t *testing.T) {
	t.Parallel()
	handler := newFacade(t, newRecorder())
	for _, version := range append(versions, "") {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			list := send(t, handler, rpc{version: version, method: "tools/list"})
			if list.Code != http.StatusOK || !strings.Contains(list.Body.String(), `"start_provision"`) {
				t.Errorf("tools/list: %d %s", list.Code, list.Body)
			}
			got := send(t, handler, rpc{version: version, method: "tools/call", params: callGetJob, header: map[string]string{
				"Mcp-Name": "get_job", "Mcp-Session-Id": "STALE-1234",
			}})
			if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `"structuredContent"`) {
				t.Errorf("tools/call with a stale session: %d %s", got.Code, got.Body)
			}
			if got.Header().Get("Content-Type") != "application/json" {
				t.Errorf("content type %q", got.Header().Get("Content-Type"))
			}
			unknown := send(t, handler, rpc{version: version, method: "tools/fly"})
			if !strings.Contains(unknown.Body.String(), "-32601") || !strings.Contains(unknown.Body.String(), `"id":7`) {
				t.Errorf("unknown method: %d %s", unknown.Code, unknown.Body)
			}
		})
	}
}

func TestInitializeAndDiscover(t *testing.T) {
	t.Parallel()
	handler := newFacade(t, newRecorder())
	for asked, answered := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"1999-01-01": "2025-11-25",
	} {
		got := send(t, handler, rpc{method: "initialize", params: fmt.Sprintf(
			`"protocolVersion":%q,"capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}`, asked)})
		text := got.Body.String()
		if got.Code != http.StatusOK || !strings.Contains(text, fmt.Sprintf(`"protocolVersion":%q`, answered)) {
			t.Errorf("initialize %s: %d %s", asked, got.Code, text)
		}
		if strings.Contains(text, "listChanged") || strings.Contains(text, "logging") || got.Header().Get("Mcp-Session-Id") != "" {
			t.Errorf("initialize promises too much: %s", text)
		}
	}
	got := send(t, handler, rpc{version: modern, method: "server/discover"})
	result := decodeObject(t, got.Body.Bytes())["result"].(map[string]any)
	if result["cacheScope"] != "private" || len(result["supportedVersions"].([]any)) != len(versions) {
		t.Errorf("discover: %s", got.Body)
	}
	initialized := send(t, handler, rpc{version: "2025-11-25", body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`})
	if initialized.Code != http.StatusAccepted {
		t.Errorf("notifications/initialized: %d", initialized.Code)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	handler := newFacade(t, newRecorder())
	list := rpc{version: modern, method: "tools/list"}
	with := func(q rpc, name, value string) rpc {
		q.header = map[string]string{name: value}
		return q
	}
	call := rpc{version: modern, method: "tools/call", params: callGetJob}
	tests := map[string]struct {
		ask    rpc
		status int
		text   string
	}{
		"no credentials":           {with(list, "Authorization", ""), 401, `"code":"unauthenticated"`},
		"no credentials, its ID":   {with(list, "Authorization", ""), 401, `"id":7`},
		"foreign host":             {with(list, "Host", "evil.example"), 403, "host_not_allowed"},
		"public host":              {with(list, "Host", "mcp.example.com:443"), 200, `"tools"`},
		"IPv6 loopback":            {with(list, "Host", "[::1]:8080"), 200, `"tools"`},
		"foreign origin":           {with(list, "Origin", "https://evil.example"), 403, "origin_not_allowed"},
		"null origin":              {with(list, "Origin", "null"), 403, "origin_not_allowed"},
		"allowed origin":           {with(list, "Origin", "https://app.example.com"), 200, `"tools"`},
		"public origin":            {with(list, "Origin", "https://mcp.example.com"), 200, `"tools"`},
		"own origin":               {with(list, "Origin", "http://127.0.0.1"), 200, `"tools"`},
		"doubled version":          {with(list, "Mcp-Protocol-Version", modern+", "+modern), 200, `"tools"`},
		"different versions":       {with(list, "Mcp-Protocol-Version", modern+", 2025-11-25"), 400, "-320"},
		"no Mcp-Method":            {with(list, "Mcp-Method", ""), 400, "-32020"},
		"no version header":        {with(list, "Mcp-Protocol-Version", ""), 400, "-32020"},
		"no Mcp-Name":              {call, 400, "-32020"},
		"wrong Mcp-Name":           {with(call, "Mcp-Name", "cancel_job"), 400, "-32020"},
		"unknown future version":   {with(list, "Mcp-Protocol-Version", "2027-01-01"), 400, "-32022"},
		"version of no form":       {with(rpc{version: modern, body: `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`}, "Mcp-Protocol-Version", "garbage"), 400, `"supported":["2026-07-28"`},
		"two messages":             {rpc{body: `{"jsonrpc":"2.0","id":7,"method":"ping"}{"jsonrpc":"2.0","id":8,"method":"ping"}`}, 400, "-32700"},
		"no method":                {rpc{body: `{"jsonrpc":"2.0","id":7,"methd":"ping"}`}, 400, `"id":7`},
		"ID that is not exact":     {rpc{body: `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`}, 400, `"id":null`},
		"null":                     {rpc{body: `null`}, 400, "-32600"},
		"params of another form":   {rpc{version: "2025-11-25", method: "initialize", params: `"protocolVersion":5`}, 400, "-32602"},
		"parts of another form":    {rpc{version: "2025-11-25", method: "initialize", params: `"protocolVersion":"2025-11-25","clientInfo":{"name":5},"capabilities":{}`}, 200, "-32602"},
		"requestState of no form":  {rpc{version: modern, method: "tools/call", params: callGetJob + `,"requestState":5`}, 400, "-32602"},
		"responses of no form":     {rpc{version: modern, method: "tools/call", params: callGetJob + `,"inputResponses":[]`}, 400, "-32602"},
		"unknown old version":      {rpc{version: "2025-01-01", method: "tools/list"}, 400, "-32022"},
		"no _meta":                 {rpc{version: modern, method: "tools/list", body: `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}`}, 400, "-32602"},
		"initialize in the newest": {rpc{version: modern, method: "initialize", params: `"protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"c","version":"1"}`}, 404, "-32601"},
		"ping in the newest":       {rpc{version: modern, method: "ping"}, 404, "-32601"},
		"ping before":              {rpc{version: "2025-11-25", method: "ping"}, 200, `"result":{}`},
		"prompts/list":             {rpc{version: modern, method: "prompts/list"}, 404, "-32601"},
		"resources/read":           {rpc{version: modern, method: "resources/read", params: `"uri":"a:b"`}, 404, "-32601"},
		"resources/list before":    {rpc{version: "2025-11-25", method: "resources/list"}, 200, "-32601"},
		"logging/setLevel":         {rpc{version: "2025-06-18", method: "logging/setLevel", params: `"level":"info"`}, 200, "-32601"},
		"subscriptions/listen":     {rpc{version: modern, method: "subscriptions/listen", params: `"notifications":{}`}, 404, "-32601"},
		"tasks/result":             {rpc{version: modern, method: "tasks/result"}, 404, "-32601"},
		"prompts in a batch":       {rpc{version: "2025-03-26", body: `[{"jsonrpc":"2.0","id":7,"method":"prompts/list"}]`}, 200, "-32601"},
		"unknown notification":     {rpc{version: "2025-11-25", body: `{"jsonrpc":"2.0","method":"fly"}`}, 202, ""},
		"unknown tool":             {with(rpc{version: modern, method: "tools/call", params: `"name":"fly","arguments":{}`}, "Mcp-Name", "fly"), 400, "-32602"},
		"tasks before":             {rpc{version: "2025-11-25", method: "tasks/get", params: `"taskId":"` + jobID + `"`}, 200, "-32601"},
		"tasks/list":               {rpc{version: modern, method: "tasks/list"}, 404, "-32601"},
		"batch in a later version": {rpc{version: "2025-11-25", body: `[{"jsonrpc":"2.0","id":7,"method":"ping"}]`}, 400, "-32600"},
		"unknown in a batch":       {rpc{version: "2025-03-26", body: `[{"jsonrpc":"2.0","id":7,"method":"fly"}]`}, 400, "-32600"},
		"one media type":           {with(list, "Accept", "application/json"), 400, "-32600"},
		"encoded Mcp-Name":         {with(call, "Mcp-Name", "=?base64?Z2V0X2pvYg==?="), 200, `"structuredContent"`},
		"GET":                      {rpc{http: http.MethodGet, body: " "}, 405, ""},
		"DELETE":                   {rpc{http: http.MethodDelete, body: " "}, 405, ""},
		"not JSON":                 {rpc{body: `{"jsonrpc":`}, 400, "-32700"},
		"other content type":       {with(list, "Content-Type", "text/plain"), 415, "-32600"},
		"too large":                {rpc{body: `{"a":"` + strings.Repeat("x", 1<<20) + `"}`}, 413, "body_too_large"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := send(t, handler, tt.ask)
			if got.Code != tt.status || !strings.Contains(got.Body.String(), tt.text) {
				t.Errorf("%d %s, want %d with %s", got.Code, got.Body, tt.status, tt.text)
			}
			if got.Code >= http.StatusBadRequest {
				if body := decodeObject(t, got.Body.Bytes()); body["jsonrpc"] != "2.0" || body["error"] == nil {
					t.Errorf("the error is not in the form of JSON-RPC: %s", got.Body)
				}
			}
			if got.Code == http.StatusUnauthorized && got.Header().Get("WWW-Authenticate") != "Bearer" {
				t.Error("no WWW-Authenticate")
			}
			if got.Code == http.StatusMethodNotAllowed && got.Header().Get("Allow") == "" {
				t.Error("no Allow")
			}
		})
	}
}

// A bug in the API in this process is its 500, and the server goes on.
func TestPanicOfTheAPIKillsNothing(t *testing.T) {
	t.Parallel()
	api := newRecorder()
	handler := newFacade(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/cancel") {
			panic("canary")
		}
		api.ServeHTTP(w, r)
	}))
	got := send(t, handler, rpc{version: "2025-11-25", method: "tools/call", params: `"name":"cancel_job","arguments":{"job_id":"` + jobID + `"}`})
	if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `"isError":true`) || strings.Contains(got.Body.String(), "canary") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := send(t, handler, rpc{version: "2025-11-25", method: "tools/call", params: callGetJob}); got.Code != http.StatusOK {
		t.Errorf("after the panic: %d", got.Code)
	}
}

func FuzzMCP(f *testing.F) {
	for _, version := range append(versions, "") {
		for _, body := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + callGetJob + `}}`,
			`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":null}`,
			`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`,
			`{"jsonrpc":"2.0","id":1,"result":{}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"start_provision","arguments":{"service":"postgres","plan":"small","parameters":{"n":1e999},"answers":{"a":[]}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_job","arguments":{"job_id":"` + jobID + `"},"requestState":"a.b.c","inputResponses":{"` + questionID + `":{"action":"accept","content":{"a":1}}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}}}}}}`,
			`{"jsonrpc":"2.0","id":1,"method":"tasks/update","params":{"taskId":"` + jobID + `","inputResponses":{"` + questionID + `":null},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`,
			`null`, `[]`, `{}`, `"`,
		} {
			f.Add(version, "tools/call", "get_job", body)
		}
	}
	handler := newFacade(f, newRecorder())
	f.Fuzz(func(t *testing.T, version, method, name, body string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got := send(t, handler, rpc{ctx: ctx, version: version, body: body + " ", header: map[string]string{"Mcp-Method": method, "Mcp-Name": name}})
		if ctx.Err() != nil {
			t.Error("the request was never answered")
		}
		if got.Code >= http.StatusInternalServerError {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	})
}
