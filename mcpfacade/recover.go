package mcpfacade

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
