package mcpfacade

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveInJSONRPC turns the SDK's errors in plain text into JSON-RPC, with their HTTP status.
func serveInJSONRPC(next http.Handler, w http.ResponseWriter, r *http.Request, msg *message) {
	held := &textHolder{ResponseWriter: w}
	next.ServeHTTP(held, r)
	if held.status != 0 {
		writeError(w, held.status, msg.ID, held.reason(r.Header.Get(versionHeader), msg))
	}
}

// textHolder passes an answer on, but holds an error in plain text back.
type textHolder struct {
	http.ResponseWriter
	status int // of the error
	text   bytes.Buffer
}

// WriteHeader implements [http.ResponseWriter].
func (h *textHolder) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(h.Header().Get("Content-Type"), "text/plain") {
		h.status = status
		return
	}
	h.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (h *textHolder) Write(p []byte) (int, error) {
	if h.status != 0 {
		return h.text.Write(p)
	}
	return h.ResponseWriter.Write(p)
}

// Unwrap lets [http.ResponseController] reach the connection.
func (h *textHolder) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// reason is the error that the specification has for the SDK's text.
func (h *textHolder) reason(version string, msg *message) *jsonrpc.Error {
	switch {
	case version != "" && !slices.Contains(versions, version):
		return unsupportedVersion(version)
	case h.status == http.StatusBadRequest && !msg.valid:
		return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the body must be JSON"}
	default:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: strings.TrimSpace(h.text.String())}
	}
}

func unsupportedVersion(version string) *jsonrpc.Error {
	data, err := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: versions, Requested: version})
	if err != nil {
		data = nil // Cannot be: it is strings alone.
	}
	return &jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion, Message: "unsupported protocol version", Data: data}
}
