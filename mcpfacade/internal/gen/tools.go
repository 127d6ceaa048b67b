package main

import "slices"

// tool says where the schemas of one MCP tool come from.
type tool struct {
	name string
	args []arg
	// output names the component schemas that the tool's result may be. It is an object of the
	// properties of all.
	output []string
	// depth is down to which level of objects the output is told; 0 is all. get_job tells all of a job.
	depth int
	// tells names the properties of the output, or of the items of a list, that are told; nil is all. A
	// result may have more.
	tells []string
}

// arg is one argument: a parameter or a property of the body of an operation.
type arg struct {
	name      string
	operation string
	// from is its name in the operation.
	from string
	// optional makes it so in the tool, though the operation requires it.
	optional bool
	// note is added to the description: what is only so in the tool.
	note string
	// set overrides keywords of the schema. It is all of the schema where there is no operation.
	set schema
}

// elicit is an argument of the tool alone.
var elicit = arg{name: "elicit", optional: true, set: schema{
	"type": "boolean", "default": true,
	"description": "false: return questions as data, also where the host shows forms. Use it after a call that the host lost.",
}}

// notes tell a model, beyond the contract, what the tool makes of an argument.
var notes = map[string]string{
	"name":       "With a name, the same start again returns the first job instead of making a second instance.",
	"answers":    "Never a secret.",
	"parameters": "Never a secret.",
}

// descriptions replace the contract's: they tell a model where it finds an argument.
var descriptions = map[string]string{
	"binding_id":  "The binding's ID, from the job that made it.",
	"instance_id": "The instance's ID, from a job or list_instances.",
	"job_id":      "The job's ID, from the tool that started it or list_jobs.",
	"operation":   "Only jobs of this operation.",
	"question_id": "The ID of an open question in the job's questions.",
}

// args are those that have the same name in the tool and in the operation.
func args(operation string, names ...string) []arg {
	var list []arg
	for _, name := range names {
		a := arg{name: name, operation: operation, from: name, note: notes[name]}
		if description, ok := descriptions[name]; ok {
			a.set = schema{"description": description}
		}
		list = append(list, a)
	}
	return list
}

// pageLimit is lower than the API's: a page must fit into a model's context.
func pageLimit(operation string) arg {
	return arg{
		name: "limit", operation: operation, from: "limit",
		set: schema{"default": 20, "maximum": 200, "description": "How many at the most."},
	}
}

// What is told of the results of tools that are called once in a job's life.
var (
	jobInBrief       = []string{"id", "state", "instance_id", "binding_id", "questions", "error"}
	preflightInBrief = []string{"valid", "blockers", "price", "external_names"}
	instanceInBrief  = []string{"plan", "parameters", "labels", "expires_at", "deletion_protection"}
)

var tools = []tool{
	{
		name: "list_services",
		args: append(args("listServices", "cursor"), pageLimit("listServices"), arg{
			name: "service", operation: "getService", from: "service_id", optional: true,
			note: "Only this one; then no limit or cursor.",
		}),
		output: []string{"ServiceList"},
		depth:  3,
	},
	{
		name: "start_provision",
		args: append(args("createInstance", "service", "plan", "name", "parameters", "answers", "on_question",
			"labels", "bind", "expires_in", "deletion_protection", "validate_only"),
			arg{name: "idempotency_key", operation: "createInstance", from: "Idempotency-Key"}, elicit),
		output: []string{"Job", "Preflight"},
		depth:  1,
		tells:  slices.Concat(preflightInBrief, jobInBrief),
	},
	{
		name: "get_job",
		args: append(args("getJob", "job_id"), arg{
			name: "wait_seconds", operation: "getJob", from: "wait",
			set: schema{"maximum": 20, "default": 0, "description": "Seconds to wait at most while the job is pending or, with elicit false, while only a page can take the answer."},
		}, elicit),
		output: []string{"Job"},
	},
	{
		name:   "answer_question",
		args:   args("answerQuestion", "job_id", "question_id", "action", "content"),
		output: []string{"Job"},
		depth:  1,
		tells:  jobInBrief,
	},
	{name: "cancel_job", args: args("cancelJob", "job_id"), output: []string{"Job"}, depth: 1, tells: jobInBrief},
	{
		name: "list_jobs",
		args: append(args("listJobs", "cursor", "state", "operation", "instance_id", "service", "label"),
			pageLimit("listJobs")),
		output: []string{"JobList"},
		depth:  2,
		tells:  slices.Concat(jobInBrief, []string{"operation", "service", "plan", "created_at"}),
	},
	{
		name: "list_instances",
		args: append(args("listInstances", "cursor", "state", "service", "label"), pageLimit("listInstances"),
			arg{name: "name", operation: "listInstances", from: "name"}),
		output: []string{"InstanceList"},
		depth:  2,
		tells:  slices.Concat(instanceInBrief, []string{"id", "name", "service", "state", "job_id", "created_at"}),
	},
	{name: "get_instance", args: args("getInstance", "instance_id"), output: []string{"Instance"}},
	{
		name:   "deprovision_instance",
		args:   args("deleteInstance", "instance_id", "validate_only"),
		output: []string{"Job", "Preflight"},
		depth:  1,
		tells:  slices.Concat(preflightInBrief, jobInBrief),
	},
	{
		name: "update_instance",
		args: append(args("updateInstance", "instance_id", "plan", "parameters", "answers", "labels", "deletion_protection", "validate_only"),
			arg{
				name: "expires_in", operation: "updateInstance", from: "expires_in",
				set: schema{"type": "integer", "minimum": 0, "description": "Seconds from now until it is deprovisioned; 0 takes its end away."},
			}, elicit),
		output: []string{"Job", "Instance", "Preflight"},
		depth:  1,
		tells:  slices.Concat(preflightInBrief, jobInBrief, instanceInBrief),
	},
	{
		name: "create_binding",
		args: append(args("createBinding", "instance_id", "expires_in"), arg{
			name: "name", operation: "createBinding", from: "name",
			note: "With the name of one that there is, nothing is made.",
		}),
		output: []string{"Job"},
		depth:  1,
		tells:  jobInBrief,
	},
	{
		name:   "rotate_credentials",
		args:   args("rotateBinding", "binding_id", "overlap", "expires_in"),
		output: []string{"Job"},
		depth:  1,
		tells:  jobInBrief,
	},
	{name: "delete_binding", args: args("deleteBinding", "binding_id"), output: []string{"Job"}, depth: 1, tells: jobInBrief},
	{
		name: "get_credentials",
		args: []arg{
			{
				name: "binding_id", operation: "getCredentials", from: "binding_id", optional: true,
				note: "The job that provisioned has it. Give this or instance_id.",
			},
			{
				name: "instance_id", operation: "listBindings", from: "instance_id", optional: true,
				note: "Its newest active binding is taken. Give this or binding_id.",
			},
		},
		output: []string{"Credentials"},
	},
}
