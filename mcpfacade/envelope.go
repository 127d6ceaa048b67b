package mcpfacade

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	versionHeader = "Mcp-Protocol-Version"
	nameHeader    = "Mcp-Name"
)

// message is what is read of a body before the SDK reads it. A batch leaves it empty.
type message struct {
	Method string          `json:"method"`
	ID     json.RawMessage `json:"id"`
	Params struct {
		TaskID string `json:"taskId"`
		Meta   struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// version is the newer one of header and body, which the SDK wants to be equal.
func (m *message) version(r *http.Request) string {
	return max(r.Header.Get(versionHeader), m.Params.Meta.Version)
}

// envelope checks what the SDK does not, for the offer of each request, and sees that every error has the
// form of JSON-RPC: clients have been seen to give up a connection on an error in plain text.
func envelope(next http.Handler, choose func(*http.Request) *offer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			refuse(w, http.StatusRequestEntityTooLarge, "body_too_large", "The body must be at most 1 MiB.")
			return
		case err != nil:
			refuse(w, http.StatusBadRequest, "invalid_request", "The body was cut off.")
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		decodeName(r.Header)

		var msg message
		_ = json.Unmarshal(body, &msg) // What is not one JSON-RPC call is judged next.
		if r.Method == http.MethodPost {
			if err := malformed(body); err != nil {
				writeError(w, http.StatusBadRequest, exactID(msg.ID), err)
				return
			}
		}
		if version := r.Header.Get(versionHeader); version != "" && !slices.Contains(versions, version) {
			writeError(w, http.StatusBadRequest, msg.ID, unsupportedVersion(version))
			return
		}
		switch {
		case r.Method != http.MethodPost || msg.Method == "":
			serveInJSONRPC(next, w, r, &msg)
		case choose(r).has(msg.Method, msg.version(r)):
			if slices.Contains(taskMethods, msg.Method) && r.Header.Get(nameHeader) != msg.Params.TaskID {
				writeError(w, http.StatusBadRequest, msg.ID, nameMismatch)
				return
			}
			serveInJSONRPC(next, w, r, &msg)
		case !validID(msg.ID):
			w.WriteHeader(http.StatusAccepted) // A notification; unknown ones are ignored.
		default:
			status := http.StatusOK
			if msg.version(r) >= perRequest {
				status = http.StatusNotFound
			}
			writeError(w, status, msg.ID, methodNotFound)
		}
	})
}

// decodeName undoes the encoding of a name that is not plain ASCII, which the SDK does not know.
func decodeName(h http.Header) {
	encoded, found := strings.CutPrefix(h.Get(nameHeader), "=?base64?")
	encoded, ended := strings.CutSuffix(encoded, "?=")
	if name, err := base64.StdEncoding.DecodeString(encoded); found && ended && err == nil {
		h.Set(nameHeader, string(name))
	}
}

var (
	methodNotFound = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this server has no such method"}
	nameMismatch   = &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "the Mcp-Name header must be params.taskId"}
)

// exactID is the ID of a message that is malformed, where it can be given back as it came.
func exactID(id json.RawMessage) json.RawMessage {
	if len(id) == 0 || !isExactID(id) {
		return nil
	}
	return id
}

// validID tells whether an ID is a string or a number, so that it can be given back.
func validID(id json.RawMessage) bool {
	return len(id) > 0 && strings.ContainsRune(`"-0123456789`, rune(id[0]))
}

// writeError answers one request; an ID that cannot be given back is null.
func writeError(w http.ResponseWriter, status int, id json.RawMessage, err *jsonrpc.Error) {
	if !validID(id) {
		id = json.RawMessage("null")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// Where that fails the client is gone and there is nobody to tell.
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": id, "error": err}) //nolint:errchkjson // See above.
}
