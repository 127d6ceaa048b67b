package mcpfacade

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/provisiond/provisiond/client"
)

// taskMethods are those of the tasks extension; tasks/list and tasks/result are of an older one.
var taskMethods = []string{"tasks/get", "tasks/update", "tasks/cancel"}

// taskParams are the parameters of all three.
type taskParams struct {
	mcp.ParamsBase
	TaskID         string          `json:"taskId"`
	InputResponses json.RawMessage `json:"inputResponses,omitempty"`
}

// acknowledged is the result of tasks/update and tasks/cancel.
type acknowledged struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

// addTasks makes jobs tasks. A task's ID is the job's, so the job's row is all there is to a task, on
// every replica.
func (f *facade) addTasks(server *mcp.Server, rules *inputRules) error {
	server.AddReceivingMiddleware(withExchange)
	return errors.Join(
		addTaskMethod(server, "tasks/get", f, rules, (*call).getTask),
		addTaskMethod(server, "tasks/update", f, rules, (*call).updateTask),
		addTaskMethod(server, "tasks/cancel", f, rules, (*call).cancelTask),
	)
}

// exchange passes between this middleware and the handlers what the SDK does not: to the methods of
// tasks their request, with header and capabilities, and from a tool the task to answer with.
type exchange struct {
	req  mcp.Request
	task *task
}

type exchangeKey struct{}

func withExchange(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		x := &exchange{req: req}
		result, err := next(context.WithValue(ctx, exchangeKey{}, x), method, req)
		if err == nil && x.task != nil {
			return x.task, nil
		}
		return result, err
	}
}

// startTask lets the call be answered with a task, where the caller knows tasks and the tool has started
// a job that is still to be done.
func (c *call) startTask(t *boundTool, found *answer) {
	x, ok := c.ctx.Value(exchangeKey{}).(*exchange)
	if ok && c.caller.tasks && t.isTask && found.job != nil && found.job.FinishedAt == nil {
		x.task = newTask("task", found.job)
	}
}

// addTaskMethod registers a method, which is served with the job's ID, checked, among the arguments.
func addTaskMethod[R mcp.Result](server *mcp.Server, method string, f *facade, rules *inputRules, serve func(*call, *taskParams) (R, error)) error {
	return mcp.AddReceivingCustomMethod(server, method, func(ctx context.Context, _ *mcp.ServerSession, params *taskParams) (result R, err error) {
		x := ctx.Value(exchangeKey{}).(*exchange) // withExchange is around each method.
		req, ok := x.req.(*mcp.ServerRequest[*taskParams])
		if !ok || params == nil {
			return result, unknownTask
		}
		c, end := f.newCall(ctx, req, req.Extra)
		defer end()
		if !c.caller.tasks {
			return result, tasksRequired()
		}
		id, err := json.Marshal(map[string]string{"job_id": params.TaskID})
		if err != nil {
			return result, err
		}
		if c.args, err = parseArguments(rules, id); err != nil {
			return result, unknownTask
		}
		if result, err = serve(c, params); err != nil {
			return result, c.taskError(err)
		}
		return result, nil
	})
}

// getTask tells how a job stands, with its questions or its outcome.
func (c *call) getTask(*taskParams) (*task, error) {
	found, err := getJob(c)
	if err != nil {
		return nil, err
	}
	t := newTask("complete", found.job)
	switch found.job.State {
	case client.JobStateAwaitingInput:
		t.InputRequests = c.caller.inputRequests(found.job, nil)
	case client.JobStateSucceeded, client.JobStateFailed:
		result := c.result(found)
		if crashed(found.job) {
			facts, _ := result.StructuredContent.(json.RawMessage) // None where they cannot be told.
			t.Error = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: found.job.Error.Message, Data: facts}
			break
		}
		t.Result = &taskOutcome{
			ResultType: "complete", Content: result.Content, StructuredContent: result.StructuredContent,
			IsError: result.IsError || found.job.State == client.JobStateFailed,
		}
	case client.JobStatePending, client.JobStateCanceled: // The status says it all.
	}
	return t, nil
}

// updateTask answers questions. Those that are answered or closed already are no error.
func (c *call) updateTask(params *taskParams) (*acknowledged, error) {
	responses, err := parseResponses(params.InputResponses)
	if err != nil {
		return nil, err
	}
	_, job, err := decode[client.Job](c.api.GetJob(c.ctx, params.TaskID, nil, c.forward))
	if err != nil {
		return nil, err
	}
	if err := c.answerForms(job, responses); err != nil && !isConflict(err) {
		return nil, err
	}
	return &acknowledged{ResultType: "complete"}, nil
}

// parseResponses reads the answers to forms. What is none is dropped, as an unknown key is.
func parseResponses(raw json.RawMessage) (mcp.InputResponseMap, error) {
	var given map[string]json.RawMessage
	if len(raw) > 0 && json.Unmarshal(raw, &given) != nil {
		return nil, wrongArgument("inputResponses", "must be an object")
	}
	responses := mcp.InputResponseMap{}
	for id, value := range given {
		var response mcp.ElicitResult
		if json.Unmarshal(value, &response) == nil {
			responses[id] = &response
		}
	}
	return responses, nil
}

// cancelTask asks for the job's end. Of a finished job there is nothing to cancel, and no error.
func (c *call) cancelTask(*taskParams) (*acknowledged, error) {
	if _, err := cancelJob(c); err != nil && !isConflict(err) {
		return nil, err
	}
	return &acknowledged{ResultType: "complete"}, nil
}

// isConflict tells that the job or question has gone on without this call.
func isConflict(err error) bool {
	var problem *client.ProblemError
	return errors.As(err, &problem) && problem.Status == http.StatusConflict
}

var unknownTask = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown task"}

// tasksRequired tells a client that did not declare the extension in this request.
func tasksRequired() error {
	return &jsonrpc.Error{
		Code: mcp.CodeMissingRequiredClientCapabilities,
		// By hand: the SDK's type would ask for roots too.
		Data:    json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`),
		Message: "the client must declare the extension " + tasksExtension,
	}
}

// taskError makes a protocol error of the API's: these methods have no result that could hold it.
func (c *call) taskError(err error) error {
	c.mustStepUp(err)
	var problem *client.ProblemError
	isProblem := errors.As(err, &problem)
	if isProblem && problem.Status == http.StatusNotFound {
		return unknownTask
	}
	why := c.explain(err)
	data, encodeErr := json.Marshal(why)
	if encodeErr != nil {
		return encodeErr
	}
	code := int64(jsonrpc.CodeInternalError)
	if why.Code == "invalid_arguments" || isProblem && problem.Status < http.StatusInternalServerError && !why.Retryable {
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: why.Code + ": " + cmp.Or(why.Detail, why.NextStep), Data: data}
}
