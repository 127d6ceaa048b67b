package mcpfacade

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/provisiond/provisiond/client"
)

const (
	mediaType = "application/json"
	// defaultLimit is lower than the API's: a page must fit into a model's context.
	defaultLimit = 20
)

// object is the body that has the named arguments as they were given, numbers to the last digit.
func (a arguments) object(names ...string) (*bytes.Reader, error) {
	given := make(map[string]json.RawMessage, len(names))
	for _, name := range names {
		if value, ok := a[name]; ok {
			given[name] = value
		}
	}
	payload, err := json.Marshal(given)
	return bytes.NewReader(payload), err
}

func listServices(c *call) (*answer, error) {
	const otherwise = "Choose a service and a plan with the user, then call start_provision."
	if id := c.args.text("service"); id != "" {
		body, err := body(c.api.GetService(c.ctx, id, nil, c.forward))
		if err != nil {
			return nil, err
		}
		list, err := json.Marshal(map[string][]json.RawMessage{"items": {body}})
		return &answer{body: list, nextStep: otherwise}, err
	}
	return c.page(func(limit *client.Limit) (json.RawMessage, *client.NextCursor, error) {
		body, list, err := decode[client.ServiceList](c.api.ListServices(c.ctx, &client.ListServicesParams{
			Limit:  limit,
			Cursor: optional[string](c.args, "cursor"),
		}, c.forward))
		if err != nil {
			return nil, nil, err
		}
		return body, list.NextCursor, nil
	}, otherwise)
}

func startProvision(c *call) (*answer, error) {
	if err := c.checkNoSecretInStart(); err != nil {
		return nil, err
	}
	payload, err := c.args.object("service", "plan", "name", "parameters", "answers", "on_question", "labels", "bind", "expires_in", "deletion_protection", "validate_only")
	if err != nil {
		return nil, err
	}
	resp, err := c.api.CreateInstanceWithBody(c.ctx,
		&client.CreateInstanceParams{IdempotencyKey: c.args.idempotencyKey()}, mediaType, payload, c.forward)
	if c.onlyValidates() {
		return aboutPreflight("start_provision", resp, err)
	}
	return c.started(resp, err)
}

// onlyValidates tells that the caller wants to know what a call would run into.
func (c *call) onlyValidates() bool { return string(c.args["validate_only"]) == "true" }

func aboutPreflight(tool string, resp *http.Response, err error) (*answer, error) {
	body, preflight, err := decode[client.Preflight](resp, err)
	if err != nil {
		return nil, err
	}
	return &answer{body: body, nextStep: afterPreflight(preflight, tool)}, nil
}

// started is the answer of a start. Its questions may be asked at once where the same call again would
// find the same job, and not make a second one: a host that drops the form loses the job's ID too. Such a
// repeat then gets the questions as data.
func (c *call) started(resp *http.Response, err error) (*answer, error) {
	body, job, err := decode[client.Job](resp, err)
	found, err := aboutJob(body, job, err)
	if err != nil {
		return nil, err
	}
	asks := isFirst(resp) && c.mayElicit() && job.State == client.JobStateAwaitingInput && len(c.caller.inputRequests(job, nil)) > 0
	found.mayAsk = asks && (c.args.text("name") != "" || c.args.text("idempotency_key") != "")
	if asks && !found.mayAsk {
		found.nextStep = fmt.Sprintf("The job has questions. Call get_job with job_id %s and wait_seconds %d: it asks the user.", job.ID, longestWaitSeconds)
	}
	return found, nil
}

func listInstances(c *call) (*answer, error) {
	labels, err := c.args.labels()
	if err != nil {
		return nil, err
	}
	return c.page(func(limit *client.Limit) (json.RawMessage, *client.NextCursor, error) {
		body, list, err := decode[client.InstanceList](c.api.ListInstances(c.ctx, &client.ListInstancesParams{
			Limit:   limit,
			Cursor:  optional[string](c.args, "cursor"),
			State:   optional[client.InstanceState](c.args, "state"),
			Service: optional[string](c.args, "service"),
			Name:    optional[string](c.args, "name"),
			Label:   labels,
		}, c.forward))
		if err != nil {
			return nil, nil, err
		}
		return body, list.NextCursor, nil
	}, "Call get_instance for what to do with one instance.")
}

func getInstance(c *call) (*answer, error) {
	return aboutInstance(c.api.GetInstance(c.ctx, c.args.text("instance_id"), nil, c.forward))
}

// aboutInstance is the answer of the tools whose result is an instance. It has the header's version as a
// property, without the quotes that models lose.
func aboutInstance(resp *http.Response, err error) (*answer, error) {
	body, instance, err := decode[client.Instance](resp, err)
	if err != nil {
		return nil, err
	}
	etag := strings.Trim(strings.TrimPrefix(resp.Header.Get("ETag"), "W/"), `"`)
	if body, err = withFirst(body, "etag", etag); err != nil {
		return nil, err
	}
	return &answer{body: body, nextStep: afterInstance(instance)}, nil
}

func checkInstance(c *call) (*answer, error) {
	return aboutJob(decode[client.Job](c.api.CheckInstance(c.ctx, c.args.text("instance_id"),
		&client.CheckInstanceParams{IdempotencyKey: c.args.idempotencyKey()}, c.forward)))
}

func deprovisionInstance(c *call) (*answer, error) {
	only := c.onlyValidates()
	resp, err := c.api.DeleteInstance(c.ctx, c.args.text("instance_id"), &client.DeleteInstanceParams{
		ValidateOnly: &only, IfMatch: c.args.ifMatch(), IdempotencyKey: c.args.idempotencyKey(),
	}, c.forward)
	if only {
		return aboutPreflight("deprovision_instance", resp, err)
	}
	body, job, err := decode[client.Job](resp, err)
	found, err := aboutJob(body, job, err)
	if err != nil {
		return nil, err
	}
	found.mayAsk = isFirst(resp) && c.mayElicit()
	return found, nil
}

// isFirst tells the answer of a call that has started a job from that of its repeat. Only the first call
// asks the job's questions: a repeat, as by a host that has lost the form, gets them as data.
func isFirst(resp *http.Response) bool {
	return resp.StatusCode == http.StatusAccepted && resp.Header.Get("Idempotency-Replayed") != "true"
}
