package mcpfacade

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/provisiond/provisiond/client"
)

// serveInJSONRPC gives the SDK's answers the form that clients expect: its errors in plain text become
// JSON-RPC with their HTTP status, and a call that lacks a scope is a 403 that says so.
func serveInJSONRPC(next http.Handler, w http.ResponseWriter, r *http.Request, msg *message) {
	held := &holder{ResponseWriter: w}
	next.ServeHTTP(held, r.WithContext(context.WithValue(r.Context(), holderKey{}, held)))
	if held.status != 0 {
		writeError(w, held.status, msg.ID, invalid(strings.TrimSpace(held.text.String())))
	}
}

type holderKey struct{}

// holder passes an answer on, but holds an error in plain text back.
type holder struct {
	http.ResponseWriter
	begun  bool
	status int // of the error
	text   bytes.Buffer

	mu sync.Mutex
	// challenge is the WWW-Authenticate header of a call that lacks a scope.
	challenge string
}

// WriteHeader implements [http.ResponseWriter].
func (h *holder) WriteHeader(status int) {
	h.begun = true
	if status >= http.StatusBadRequest && strings.HasPrefix(h.Header().Get("Content-Type"), "text/plain") {
		h.status = status
		return
	}
	h.mu.Lock()
	challenge := h.challenge
	h.mu.Unlock()
	if challenge != "" {
		h.Header().Set("WWW-Authenticate", challenge)
		status = http.StatusForbidden
	}
	h.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (h *holder) Write(p []byte) (int, error) {
	if !h.begun {
		h.WriteHeader(http.StatusOK)
	}
	if h.status != 0 {
		return h.text.Write(p)
	}
	if _, err := h.ResponseWriter.Write(withCode(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Unwrap lets [http.ResponseController] reach the connection.
func (h *holder) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// withCode gives an error the code that the specification has for it, where the SDK gives 0: of parameters
// that do not fit its own types, whose names it then tells.
func withCode(answer []byte) []byte {
	if !bytes.Contains(answer, []byte(`"code":0,`)) {
		return answer
	}
	var fields struct {
		ID    json.RawMessage `json:"id"`
		Error *jsonrpc.Error  `json:"error"`
	}
	if json.Unmarshal(answer, &fields) != nil || fields.Error == nil || fields.Error.Code != 0 {
		return answer
	}
	mended, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": fields.ID, "error": invalidParams("params are not of the form that the method takes"),
	})
	if err != nil {
		return answer // Cannot be: it is what was just read.
	}
	return mended
}

// mustStepUp makes the call's answer a 403, where an access token lacks a scope: its client can then get one
// that has it (MCP authorization, "Scope Challenge Handling"). Who has an API key can only be told.
func (c *call) mustStepUp(err error) {
	problem, ok := errors.AsType[*client.ProblemError](err)
	held, overHTTP := c.ctx.Value(holderKey{}).(*holder)
	if !ok || !overHTTP || problem.Code != "insufficient_scope" || !strings.Contains(problem.Challenge, "resource_metadata=") || c.hasAPIKey() {
		return
	}
	held.mu.Lock()
	defer held.mu.Unlock()
	held.challenge = problem.Challenge
}

// hasAPIKey tells an API key from an access token, which has two dots.
func (c *call) hasAPIKey() bool { return strings.Count(c.token(), ".") != 2 }

func unsupportedVersion(version string) *jsonrpc.Error {
	data, err := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: versions, Requested: version})
	if err != nil {
		data = nil // Cannot be: it is strings alone.
	}
	return &jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion, Message: "unsupported protocol version", Data: data}
}
