package mcpfacade

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/provisiond/provisiond/client"
)

// call is one tool call.
type call struct {
	*facade
	ctx    context.Context //nolint:containedctx // It lives as long as the call.
	header http.Header
	args   arguments
}

// answer is what a tool found: the body of the API's answer, and what to do next.
type answer struct {
	body     json.RawMessage
	nextStep string
	// whole answers are never shortened: half a certificate is none.
	whole bool
}

// toolFunc serves one tool. Its errors become a result that tells the model what to do.
type toolFunc func(*call) (*answer, error)

// handler makes an SDK handler of a tool.
func (f *facade) handler(rules *inputRules, serve toolFunc) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args, err := parseArguments(rules, req.Params.Arguments)
		if err != nil {
			return f.failed(err), nil
		}
		ctx, cancel := context.WithTimeout(ctx, f.maxWait+callTime)
		defer cancel()
		c := &call{facade: f, ctx: ctx, args: args}
		if req.Extra != nil {
			c.header = req.Extra.Header
		}
		found, err := serve(c)
		if err != nil {
			return f.failed(err), nil
		}
		return f.result(found), nil
	}
}

// forward gives the API the caller's credentials and the names by which a request is traced.
func (c *call) forward(_ context.Context, req *http.Request) error {
	for _, name := range []string{"Authorization", "X-Request-ID", "Traceparent", "Tracestate"} {
		if value := c.header.Get(name); value != "" {
			req.Header.Set(name, value)
		}
	}
	return nil
}

// body takes the JSON of a 2xx answer. Any other is a [*client.ProblemError].
func body(resp *http.Response, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // It is in memory.
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read the API's answer: %w", err)
	}
	if resp.StatusCode/100 != 2 || !json.Valid(content) {
		return nil, client.NewProblemError(resp, content)
	}
	return content, nil
}

// decode is body for an answer that the facade itself has to read.
func decode[T any](resp *http.Response, err error) (json.RawMessage, *T, error) {
	content, err := body(resp, err)
	if err != nil {
		return nil, nil, err
	}
	var value T
	if err := json.Unmarshal(content, &value); err != nil {
		return nil, nil, fmt.Errorf("read the API's answer: %w", err)
	}
	return content, &value, nil
}
