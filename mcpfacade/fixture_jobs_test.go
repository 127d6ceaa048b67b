//go:build interop

package mcpfacade

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// jobInput is the input schema of all tools that start jobs.
const jobInput = `{"type":"object","properties":{
	"seconds":{"type":"integer"},"label":{"type":"string"},"filename":{"type":"string"},
	"wait_seconds":{"type":"integer"},"user_name":{"type":"string"}}}`

// addJobTools adds the tools whose work is a job. Each starts one of a plan of e2e/conformance/catalog.yaml
// by start_provision's own function, so all that follows is the product's: questions, states and tasks.
func (f *facade) addJobTools(server *mcp.Server) error {
	rules, err := parseRules(json.RawMessage(jobInput))
	if err != nil {
		return err
	}
	schemas := toolSchemas{Input: json.RawMessage(jobInput), Output: anything}
	bind := func(t tool) *boundTool { return &boundTool{tool: t, schemas: schemas, rules: rules} }
	bound := map[string]*boundTool{}
	for name, serve := range map[string]toolFunc{
		"slow_compute":       startsPlan("working", working),
		"failing_job":        needsTasks(startsPlan("failing", nil)),
		"protocol_error_job": startsPlan("panicking", nil),
		"confirm_delete":     startsPlan("confirming", nil),
		"multi_input":        startsPlan("confirming-twice", nil),

		"test_input_required_result_request_state":  startsPlan("agreed", nil),
		"test_input_required_result_tampered_state": startsPlan("agreed", nil),
	} {
		bound[name] = bind(tool{name: name, description: forTheSuite, serve: serve, asks: true, isTask: true})
	}
	f.addTools(server, bound)

	const rounds, greeting = "test_input_required_result_multi_round", "test_tool_with_task"
	addPlain(server, rounds, patiently(f.handler(bind(tool{name: rounds, serve: startsPlan("named-then-coloured", nil), asks: true}))))
	addPlain(server, greeting, named(f.handler(bind(tool{name: greeting, serve: startsPlan("asking", greets), isTask: true}))))
	return nil
}

// startsPlan is a tool that starts a job, with a key: only a start that can be repeated may ask.
func startsPlan(plan string, parameters func(arguments) map[string]any) toolFunc {
	return func(c *call) (*answer, error) {
		start := map[string]any{"service": "conformance", "plan": plan, "idempotency_key": rand.Text()}
		if parameters != nil {
			start["parameters"] = parameters(c.args)
		}
		encoded, err := json.Marshal(start)
		if err != nil {
			return nil, err
		}
		c.args = nil
		if err := json.Unmarshal(encoded, &c.args); err != nil {
			return nil, err
		}
		return startProvision(c)
	}
}

func working(args arguments) map[string]any {
	return map[string]any{"duration": fmt.Sprint(args.number("seconds", 0), "s")}
}

// greets makes a job repeat a name: it asks for agreement with the name, which expires at once and is
// then taken for given.
func greets(args arguments) map[string]any {
	return map[string]any{"questions": []map[string]any{{
		"name": "greeting", "message": "Greet " + args.text("user_name") + "?", "expiry": "1s", "default": map[string]any{},
		"schema": map[string]any{"type": "object", "properties": map[string]any{"ok": map[string]any{"type": "boolean"}}},
	}}}
}

// needsTasks refuses a caller that cannot be given a task.
func needsTasks(serve toolFunc) toolFunc {
	return func(c *call) (*answer, error) {
		if !c.caller.tasks {
			return nil, tasksRequired()
		}
		return serve(c)
	}
}

// patiently waits after an answer for what the job asks next.
func patiently(handler mcp.ToolHandler) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		req.Params.Arguments = json.RawMessage(`{"wait_seconds":20}`)
		return handler(ctx, req)
	}
}

// named asks for the user's name before the tool, which gets it as an argument.
func named(handler mcp.ToolHandler) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		name, ok := accepted(req.Params.InputResponses, "user_name")["name"].(string)
		if !ok {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"user_name": askName}}, nil
		}
		var err error
		req.Params.Arguments, err = json.Marshal(map[string]string{"user_name": name})
		if err != nil {
			return nil, err
		}
		req.Params.InputResponses = nil
		return handler(ctx, req)
	}
}
