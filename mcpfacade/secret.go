package mcpfacade

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/provisiond/provisiond/client"
)

// secretError refuses a secret: what goes through a tool is seen by the model and kept by its host.
type secretError struct {
	// what names the question, argument or parameter.
	what string
	// answerURL is where a person answers; empty before there is a job.
	answerURL string
	// neverAsked: no job asks for it.
	neverAsked bool
}

// Error implements error.
func (e *secretError) Error() string {
	return fmt.Sprintf("%s is secret. Secrets are never passed through a tool.", e.what)
}

func (e *secretError) nextStep() string {
	switch {
	case e.neverAsked:
		return "Do not ask the user for it. Tell the user to change it with the REST API, and call update_instance for the rest."
	case e.answerURL == "":
		return "Call start_provision again without it and without on_question. The job will ask for it, with a link to a page for the user."
	default:
		return "Do not ask the user for it. Give the user the answer_url, then call get_job with wait_seconds and elicit false."
	}
}

// checkNoSecret refuses an answer to a secret question.
func (c *call) checkNoSecret(jobID, questionID string) error {
	_, job, err := decode[client.Job](c.api.GetJob(c.ctx, jobID, nil, c.forward))
	if err != nil {
		return err
	}
	for _, q := range job.Questions {
		if q.ID == questionID && q.Secret {
			return &secretError{what: "The answer to question " + q.ID, answerURL: q.AnswerURL}
		}
	}
	return nil
}

// checkNoSecretInStart refuses answers and parameters that the plan calls secret. Where the service
// cannot be read, the start itself will say why.
func (c *call) checkNoSecretInStart() error {
	given := slices.Concat(c.args.names("answers"), c.args.names("parameters"))
	if len(given) == 0 {
		return nil
	}
	_, service, err := decode[client.Service](c.api.GetService(c.ctx, c.args.text("service"), nil, c.forward))
	if err != nil {
		return nil //nolint:nilerr // See above.
	}
	for _, plan := range service.Plans {
		if plan.ID != c.args.text("plan") {
			continue
		}
		for _, name := range secretNames(&plan) {
			if slices.Contains(given, name) {
				return &secretError{what: name}
			}
		}
	}
	return nil
}

// checkNoSecretInUpdate refuses new values of parameters that the plan, as it is or shall be, calls
// secret. Where the instance or its service cannot be read, the update itself will say why.
func (c *call) checkNoSecretInUpdate() error {
	given := slices.Concat(c.args.names("answers"), c.args.names("parameters"))
	if len(given) == 0 {
		return nil
	}
	_, instance, err := decode[client.Instance](c.api.GetInstance(c.ctx, c.args.text("instance_id"), nil, c.forward))
	if err != nil {
		return nil //nolint:nilerr // See above.
	}
	_, service, err := decode[client.Service](c.api.GetService(c.ctx, instance.Service, nil, c.forward))
	if err != nil {
		return nil //nolint:nilerr // See above.
	}
	for _, plan := range service.Plans {
		if plan.ID != instance.Plan && plan.ID != c.args.text("plan") {
			continue
		}
		for _, name := range secretNames(&plan) {
			if slices.Contains(given, name) {
				return &secretError{what: name, neverAsked: true}
			}
		}
	}
	return nil
}

// names are the property names of an object argument.
func (a arguments) names(argument string) []string {
	var object map[string]json.RawMessage
	_ = json.Unmarshal(a[argument], &object) // Not given, or an object by parseArguments.
	return slices.Collect(maps.Keys(object))
}

// secretNames are the plan's secret questions and its writeOnly parameters.
func secretNames(plan *client.Plan) []string {
	var names []string
	for _, q := range plan.Questions {
		if q.Secret {
			names = append(names, q.Name)
		}
	}
	properties, _ := plan.Parameters["properties"].(map[string]any)
	for name, raw := range properties {
		if property, ok := raw.(map[string]any); ok && property["writeOnly"] == true {
			names = append(names, name)
		}
	}
	return names
}
