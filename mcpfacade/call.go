package mcpfacade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/provisiond/provisiond/client"
)

// call is one call of a tool or of a method of tasks.
type call struct {
	*facade
	ctx    context.Context //nolint:containedctx // It lives as long as the call.
	header http.Header     // nil over stdio
	caller caller
	tool   string
	args   arguments
	// given is args in canonical form, before a tool adds to them.
	given json.RawMessage
}

// newCall makes a call that ends in time. Its end must be called.
func (f *facade) newCall(ctx context.Context, req request, extra *mcp.RequestExtra) (c *call, end func()) {
	ctx, end = context.WithTimeout(ctx, f.maxWait+callTime)
	c = &call{facade: f, ctx: ctx, caller: callerOf(req)}
	if extra != nil {
		c.header = extra.Header
	}
	return c, end
}

// answer is what a tool found: the body of the API's answer, and what to do next.
type answer struct {
	body     json.RawMessage
	nextStep string
	// whole answers are never shortened: half a certificate is none.
	whole bool
	// job is what body is, where it is a job.
	job *client.Job
	// mayAsk tells that the job's questions may be put to the caller's user.
	mayAsk bool
	// seen are the questions that the user has been asked in this call.
	seen mcp.InputResponseMap
	// wrong are the answers in this call that the user has to give again.
	wrong wrongAnswers
}

// toolFunc serves one tool. Its errors become a result that tells the model what to do.
type toolFunc func(*call) (*answer, error)

// handler makes an SDK handler of a tool.
func (f *facade) handler(t *boundTool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c, end := f.newCall(ctx, req, req.Extra)
		defer end()
		found, err := c.run(t, req.Params)
		if err != nil {
			return c.refused(err)
		}
		if t.asks {
			if asked, err := c.ask(found); asked != nil || err != nil {
				return asked, err
			}
		}
		c.startTask(t, found)
		return f.result(found), nil
	}
}

// run serves a tool, after a check of its arguments. A call that brings a person's answers goes on with
// the job that asked.
func (c *call) run(t *boundTool, params *mcp.CallToolParamsRaw) (*answer, error) {
	var err error
	if c.args, err = parseArguments(t.rules, params.Arguments); err != nil {
		return nil, err
	}
	if !t.asks {
		return t.serve(c)
	}
	c.tool = t.name
	if c.given, err = c.args.canonical(); err != nil {
		return nil, err
	}
	if params.RequestState != "" || params.InputResponses != nil {
		return c.resume(params.RequestState, params.InputResponses)
	}
	return t.serve(c)
}

// refused is the answer to an error: the protocol's own as they are, others as a result.
func (c *call) refused(err error) (*mcp.CallToolResult, error) {
	c.mustStepUp(err)
	if protocol, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return nil, protocol
	}
	return c.failed(err), nil
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
