package mcpfacade

import (
	"encoding/json"
	"maps"
	"net/http"

	"github.com/provisiond/provisiond/client"
)

func updateInstance(c *call) (*answer, error) {
	if err := c.checkNoSecretInUpdate(); err != nil {
		return nil, err
	}
	payload, err := c.args.withoutEnd().object("plan", "parameters", "answers", "labels", "expires_in", "deletion_protection", "validate_only")
	if err != nil {
		return nil, err
	}
	resp, err := c.api.UpdateInstanceWithBody(c.ctx, c.args.text("instance_id"),
		&client.UpdateInstanceParams{IfMatch: c.args.ifMatch(), IdempotencyKey: c.args.idempotencyKey()}, mediaType, payload, c.forward)
	if c.onlyValidates() {
		return aboutPreflight("update_instance", resp, err)
	}
	return c.updated(resp, err)
}

// withoutEnd turns an expires_in of 0 into the API's null, which hosts leave out and schemas for them
// cannot name.
func (a arguments) withoutEnd() arguments {
	if a.number("expires_in", -1) != 0 {
		return a
	}
	changed := maps.Clone(a)
	changed["expires_in"] = json.RawMessage("null")
	return changed
}

// updated is the answer of an update: a job, or the instance where no job was needed. As with a start the
// job's questions may be asked at once: a repeat gets the job, or is refused with its ID.
func (c *call) updated(resp *http.Response, err error) (*answer, error) {
	if err == nil && resp.StatusCode == http.StatusOK {
		found, err := aboutInstance(resp, nil)
		if err != nil {
			return nil, err
		}
		found.nextStep = "It is changed as far as it was not so already; no job was needed. " + found.nextStep
		return found, nil
	}
	body, job, err := decode[client.Job](resp, err)
	found, err := aboutJob(body, job, err)
	if err != nil {
		return nil, err
	}
	found.mayAsk = isFirst(resp) && c.mayElicit()
	return found, nil
}
