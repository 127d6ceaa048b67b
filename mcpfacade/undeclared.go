package mcpfacade

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// declared are the methods that this server's capabilities promise. The SDK serves more: it answers
// prompts/list, for one, with an empty list.
var declared = []string{"initialize", "ping", "server/discover", "tools/list", "tools/call"}

// firstWithStatus is the protocol version from which an unknown method is also an HTTP 404.
const firstWithStatus = "2026-07-28"

func isDeclared(method string) bool {
	return slices.Contains(declared, method) || strings.HasPrefix(method, "notifications/")
}

// answerUnknown answers a call of a method that is not declared as JSON-RPC wants it. The SDK does so
// for the newest protocol version only: in an older one its answer is plain text, on which clients
// have been seen to give up the connection.
func answerUnknown(next http.Handler) http.Handler {
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

		var msg struct {
			Method string          `json:"method"`
			ID     json.RawMessage `json:"id"`
		}
		// What is not one JSON-RPC call is the SDK's to judge.
		if r.Method != http.MethodPost || json.Unmarshal(body, &msg) != nil || msg.Method == "" || isDeclared(msg.Method) {
			next.ServeHTTP(w, r)
			return
		}
		if !validID(msg.ID) {
			w.WriteHeader(http.StatusAccepted) // A notification; unknown ones are ignored.
			return
		}
		writeNotFound(w, r.Header.Get(versionHeader), msg.ID)
	})
}

// validID tells whether an ID is a string or a number, so that it can be given back.
func validID(id json.RawMessage) bool {
	return len(id) > 0 && strings.ContainsRune(`"-0123456789`, rune(id[0]))
}

func writeNotFound(w http.ResponseWriter, version string, id json.RawMessage) {
	w.Header().Set("Content-Type", "application/json")
	if version >= firstWithStatus {
		w.WriteHeader(http.StatusNotFound)
	}
	writeJSON(w, map[string]any{"jsonrpc": "2.0", "id": id, "error": methodNotFound})
}

var methodNotFound = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this server has no such method"}

// onlyDeclared refuses what answerUnknown does not see: calls within a batch, and those over stdio.
func onlyDeclared(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if !isDeclared(method) {
			return nil, methodNotFound
		}
		return next(ctx, method, req)
	}
}

// recoverPanics keeps a bug in one call from ending the process: the SDK runs calls on goroutines of
// its own, where net/http does not recover.
func (f *facade) recoverPanics(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				// Not the value, which may hold what the caller sent.
				f.log.ErrorContext(ctx, "mcp: panic", "method", method, "stack", stack())
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
			}
		}()
		return next(ctx, method, req)
	}
}
