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
	// adds names what the tool adds to the output, beside next_step.
	adds []string
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
	"description": "false: questions come as data, not as a form of the host.",
}}

// onlyOnce is the argument that makes a repeat of the call harmless.
func onlyOnce(operation string) arg {
	return arg{
		name: "idempotency_key", operation: operation, from: "Idempotency-Key",
		set: schema{"description": "Your own key: the same call with it again is not done twice."},
	}
}

// unchanged is the argument that has the call refused where the instance has changed. Its value comes
// without the quotes of the header, which models lose.
func unchanged(operation string) arg {
	return arg{
		name: "if_match", operation: operation, from: "If-Match",
		set: schema{"description": "The etag of get_instance; where it has changed since, nothing is done.", "pattern": `^"?[\x21\x23-\x7e]+"?$`},
	}
}

// notes tell a model, beyond the contract, what the tool makes of an argument.
var notes = map[string]string{
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

// label has no pattern for its items, which no host needs.
func label(operation string) arg {
	return arg{name: "label", operation: operation, from: "label", set: schema{"items": schema{"type": "string"}}}
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
	jobInBrief       = []string{"id", "state", "instance_id", "binding_id"}
	preflightInBrief = []string{"valid", "blockers", "questions", "price", "external_names"}
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
		depth:  2,
	},
	{
		name: "start_provision",
		args: append(args("createInstance", "service", "plan", "name", "parameters", "answers", "on_question",
			"labels", "bind", "expires_in", "deletion_protection", "validate_only"),
			onlyOnce("createInstance"), elicit),
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
		args: append(args("listJobs", "cursor", "state", "operation", "instance_id", "service"),
			label("listJobs"), pageLimit("listJobs")),
		output: []string{"JobList"},
		depth:  2,
		tells:  slices.Concat(jobInBrief, []string{"operation", "service", "plan", "created_at"}),
	},
	{
		name: "list_instances",
		args: append(args("listInstances", "cursor", "state", "service", "name"),
			label("listInstances"), pageLimit("listInstances")),
		output: []string{"InstanceList"},
		depth:  2,
		tells:  slices.Concat(instanceInBrief, []string{"id", "name", "service", "state", "job_id", "created_at"}),
	},
	{name: "get_instance", args: args("getInstance", "instance_id"), output: []string{"Instance"}, adds: []string{"etag"}},
	{
		name:   "check_instance",
		args:   append(args("checkInstance", "instance_id"), onlyOnce("checkInstance")),
		output: []string{"Job"},
		depth:  1,
		tells:  jobInBrief,
	},
	{
		name:   "list_bindings",
		args:   append(args("listBindings", "instance_id", "cursor"), pageLimit("listBindings")),
		output: []string{"BindingList"},
		depth:  2,
		tells:  []string{"id", "name", "state", "expires_at", "renew_before", "predecessor_id", "created_at"},
	},
	{
		name:   "deprovision_instance",
		args:   append(args("deleteInstance", "instance_id", "validate_only"), unchanged("deleteInstance"), onlyOnce("deleteInstance")),
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
			}, unchanged("updateInstance"), onlyOnce("updateInstance"), elicit),
		output: []string{"Job", "Instance", "Preflight"},
		depth:  1,
		tells:  slices.Concat(preflightInBrief, jobInBrief, instanceInBrief),
	},
	{
		name: "create_binding",
		args: append(args("createBinding", "instance_id", "expires_in"), arg{
			name: "name", operation: "createBinding", from: "name",
			note: "With the name of one that there is, nothing is made.",
		}, onlyOnce("createBinding")),
		output: []string{"Job"},
		depth:  1,
		tells:  jobInBrief,
	},
	{
		name:   "rotate_credentials",
		args:   append(args("rotateBinding", "binding_id", "overlap", "expires_in"), onlyOnce("rotateBinding")),
		output: []string{"Job"},
		depth:  1,
		tells:  jobInBrief,
	},
	{
		name:   "delete_binding",
		args:   append(args("deleteBinding", "binding_id"), onlyOnce("deleteBinding")),
		output: []string{"Job"},
		depth:  1,
		tells:  jobInBrief,
	},
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
