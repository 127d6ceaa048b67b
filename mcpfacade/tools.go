package mcpfacade

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is a tool's words and the function that serves it. Its schemas are in schemas.gen.json.
type tool struct {
	name        string
	title       string
	description string
	annotations mcp.ToolAnnotations
	serve       toolFunc
	// asks tells that the tool may put a job's questions to the caller's user.
	asks bool
	// isTask tells that the tool's job may be a task of the caller.
	isTask bool
}

// The kinds of tools. Only what makes something new reaches out into the open world. Whatever reads is
// idempotent, which need not be said.
var (
	no, yes = false, true

	reads   = mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, OpenWorldHint: &no}
	starts  = mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &yes}
	removes = mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: &yes, OpenWorldHint: &no}
	changes = removes // what there was is replaced
	checks  = mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no}
	renews  = mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes}
)

var tools = []tool{
	{
		name: "list_services", title: "List services", annotations: reads, serve: listServices,
		description: "Lists the services that can be provisioned, with plans, prices, parameters and the questions to expect. " +
			"Use it first, to choose service and plan for start_provision.",
	},
	{
		name: "start_provision", title: "Start to provision", annotations: starts, serve: startProvision, asks: true, isTask: true,
		description: "Starts to provision a service instance and returns a job at once; the work is not done then. Next, call get_job. " +
			"Give a name: the same start with the same name again, such as after a lost call, returns the first job and makes nothing twice. " +
			"validate_only makes nothing and tells the price and the questions. May cost money: ask the user first.",
	},
	{
		name: "get_job", title: "Get or await a job", annotations: reads, serve: getJob, asks: true,
		description: "Tells how a job stands. With wait_seconds 20 it returns as soon as the job is done or asks something, so no " +
			"sleep between calls is needed. Call it again while state is pending; then do what next_step says. A host that can show forms " +
			"asks the user at once; if it loses or declines such a call, call again with elicit false and use answer_question.",
	},
	{
		name: "answer_question", title: "Answer a question", annotations: removes, serve: answerQuestion,
		description: "Answers an open question of a job that awaits input. Ask the user; do not guess an answer, least of all to a price. " +
			"decline and cancel both cancel the job. Secret questions are refused: give the user the question's answer_url. Next, call get_job.",
	},
	{
		name: "cancel_job", title: "Cancel a job", annotations: removes, serve: cancelJob,
		description: "Cancels a job and removes what it has made. Use it when the user no longer wants it. " +
			"Next, call get_job until state is canceled.",
	},
	{
		name: "list_jobs", title: "List jobs", annotations: reads, serve: listJobs,
		description: "Lists jobs, newest first. Use it to find a job again, such as after a call whose answer was lost.",
	},
	{
		name: "list_instances", title: "List instances", annotations: reads, serve: listInstances,
		description: "Lists service instances, newest first. Use it to see what exists before starting something new.",
	},
	{
		name: "get_instance", title: "Get an instance", annotations: reads, serve: getInstance,
		description: "Shows one instance: its state, where it is reached (no credentials), what the last check found, its last job and its etag.",
	},
	{
		name: "update_instance", title: "Change an instance", annotations: changes, serve: updateInstance, asks: true, isTask: true,
		description: "Changes an instance: labels, its end and protection at once, plan and parameters by a job. The plan's updates_to and " +
			"x-mutable in list_services say what may change. validate_only changes nothing. May cost money: ask the user first.",
	},
	{
		name: "check_instance", title: "Check an instance", annotations: checks, serve: checkInstance, isTask: true,
		description: "Compares an instance with what really exists, by a job; changes nothing. Use it when the service does not work as it " +
			"should, or after a canceled update. Next, call get_job, then get_instance: findings lists what differs.",
	},
	{
		name: "list_bindings", title: "List credentials", annotations: reads, serve: listBindings,
		description: "Lists an instance's bindings (sets of credentials; the secrets are not told), newest first. " +
			"Use it to find a binding_id, or what is to be rotated.",
	},
	{
		name: "create_binding", title: "Make credentials", annotations: starts, serve: createBinding, isTask: true,
		description: "Makes another set of credentials for an instance by a job, such as for another program. Next, call get_job.",
	},
	{
		name: "rotate_credentials", title: "Rotate credentials", annotations: renews, serve: rotateCredentials, isTask: true,
		description: "Makes new credentials in the place of a binding's by a job. The old ones work on for the overlap and are then removed: " +
			"see that what uses them gets the new ones in time. Next, call get_job.",
	},
	{
		name: "delete_binding", title: "Remove credentials", annotations: removes, serve: deleteBinding, isTask: true,
		description: "Removes the credentials of a binding by a job; what uses them is cut off, the data stays. Ask the user first. Next, call get_job.",
	},
	{
		name: "deprovision_instance", title: "Delete an instance", annotations: removes, serve: deprovisionInstance, asks: true, isTask: true,
		description: "Deletes an instance with all its data, for ever, by a job. Ask the user first. It also stops a provision that runs. " +
			"A person may have to confirm it on a page: give the user the question's answer_url. validate_only deletes nothing. Next, call get_job.",
	},
	{
		name: "get_credentials", title: "Get credentials", annotations: reads, serve: getCredentials,
		description: "Returns the secret credentials of a binding, such as a connection URI. Needs a key with scope credentials:read. " +
			"Each read is audited. Use it only when the credentials are needed.",
	},
}

// boundTool is a tool with the schemas under which it is offered.
type boundTool struct {
	tool
	schemas toolSchemas
	rules   *inputRules
}

// bindTools gives all tools by name; with readOnly those that read, which then ask nothing, since an
// answer is no reading.
func bindTools(readOnly bool) (map[string]*boundTool, error) {
	schemas, err := loadSchemas()
	if err != nil {
		return nil, err
	}
	bound := make(map[string]*boundTool, len(tools))
	for _, t := range tools {
		if readOnly && !t.annotations.ReadOnlyHint {
			continue
		}
		t.asks = t.asks && !readOnly
		s, ok := schemas[t.name]
		if !ok {
			return nil, fmt.Errorf("mcpfacade: schemas.gen.json lacks %s", t.name)
		}
		rules, err := parseRules(s.Input)
		if err != nil {
			return nil, fmt.Errorf("mcpfacade: schema of %s: %w", t.name, err)
		}
		bound[t.name] = &boundTool{tool: t, schemas: s, rules: rules}
	}
	return bound, nil
}

// addTools registers tools; the SDK lists them by name.
func (f *facade) addTools(server *mcp.Server, bound map[string]*boundTool) {
	for _, t := range bound {
		server.AddTool(&mcp.Tool{
			Name:         t.name,
			Title:        t.title,
			Description:  t.description,
			Annotations:  &t.annotations,
			InputSchema:  t.schemas.Input,
			OutputSchema: t.schemas.Output,
		}, f.handler(t))
	}
}
