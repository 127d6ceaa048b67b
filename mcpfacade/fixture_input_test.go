//go:build interop

package mcpfacade

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What the tools ask for.
var (
	askName    = askFor("What is your name?", "name")
	askContext = askFor("What is it about?", "context")
	askModel   = &mcp.CreateMessageParams{
		Messages:  []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "Greet the user."}}},
		MaxTokens: 50,
	}
	askRoots = &mcp.ListRootsParams{}
)

func askFor(message, field string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: map[string]any{
		"type": "object", "required": []string{field},
		"properties": map[string]any{field: map[string]any{"type": "string"}},
	}}
}

// accepted is what a person has entered into a form.
func accepted(responses mcp.InputResponseMap, key string) map[string]any {
	if response, ok := responses[key].(*mcp.ElicitResult); ok && response.Action == accept {
		return response.Content
	}
	return nil
}

// addInputTools adds the tools that ask for more than the forms of jobs.
func (f *facade) addInputTools(server *mcp.Server) error {
	for name, requests := range map[string]mcp.InputRequestMap{
		"test_input_required_result_elicitation":  {"user_name": askName},
		"test_input_required_result_sampling":     {"capital_question": askModel},
		"test_input_required_result_list_roots":   {"client_roots": askRoots},
		"test_input_required_result_capabilities": {"user_name": askName, "greeting": askModel, "client_roots": askRoots},

		// In 2025-11-25 these would ask within a session.
		"test_elicitation":                  {"user_name": askName},
		"test_elicitation_sep1034_defaults": {"user_name": askName},
		"test_elicitation_sep1330_enums":    {"user_name": askName},
		"test_sampling":                     {"greeting": askModel},
	} {
		addPlain(server, name, asksFor(requests))
	}
	const multiple = "test_input_required_result_multiple_inputs"
	addPlain(server, multiple, f.withState(multiple,
		asksFor(mcp.InputRequestMap{"user_name": askName, "greeting": askModel, "client_roots": askRoots})))

	required, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{
		RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}},
	})
	addPlain(server, "test_missing_capability", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if can := req.ClientCapabilities(); can == nil || can.Sampling == nil {
			return nil, &jsonrpc.Error{
				Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the client must declare sampling", Data: required,
			}
		}
		return says("sampling is there"), nil
	})
	return err
}

// asksFor is a tool that asks for all of it that the client has declared, until it has an answer to each.
func asksFor(requests mcp.InputRequestMap) mcp.ToolHandler {
	return func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		open := mcp.InputRequestMap{}
		for key, request := range requests {
			if !answered(req.Params.InputResponses, key, request) && canAnswer(req.ClientCapabilities(), request) {
				open[key] = request
			}
		}
		if len(open) > 0 {
			return &mcp.CallToolResult{InputRequests: open}, nil
		}
		return says("all is answered"), nil
	}
}

func answered(responses mcp.InputResponseMap, key string, request mcp.InputRequest) bool {
	if _, ok := request.(*mcp.ElicitParams); ok {
		return accepted(responses, key) != nil
	}
	_, ok := responses[key]
	return ok
}

// canAnswer is true for a client of a session, which a stateless server knows nothing of.
func canAnswer(can *mcp.ClientCapabilities, request mcp.InputRequest) bool {
	if can == nil {
		return true
	}
	switch request.(type) {
	case *mcp.ElicitParams:
		return can.Elicitation != nil
	case *mcp.CreateMessageParams:
		return can.Sampling != nil
	default:
		return can.RootsV2 != nil
	}
}

// withState gives what a tool asks the product's requestState, and checks it in what comes back.
func (f *facade) withState(name string, handler mcp.ToolHandler) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c, end := f.newCall(ctx, req, req.Extra)
		defer end()
		c.tool, c.given = name, req.Params.Arguments
		if state := req.Params.RequestState; state != "" {
			if _, err := c.openState(state); err != nil {
				return nil, err
			}
		}
		result, err := handler(ctx, req)
		if err != nil || result.InputRequests == nil {
			return result, err
		}
		result.RequestState, err = c.newState("asked")
		return result, err
	}
}
