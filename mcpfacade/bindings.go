package mcpfacade

import (
	"encoding/json"
	"net/http"

	"github.com/provisiond/provisiond/client"
)

func listBindings(c *call) (*answer, error) {
	return c.page(func(limit *client.Limit) (json.RawMessage, *client.NextCursor, error) {
		body, list, err := decode[client.BindingList](c.api.ListBindings(c.ctx, c.args.text("instance_id"), &client.ListBindingsParams{
			Limit:  limit,
			Cursor: optional[string](c.args, "cursor"),
		}, c.forward))
		if err != nil {
			return nil, nil, err
		}
		return body, list.NextCursor, nil
	}, "With the binding_id of an active one, get_credentials reads its credentials, rotate_credentials replaces them (do that before "+
		"its renew_before) and delete_binding removes them. create_binding makes another set.")
}

func createBinding(c *call) (*answer, error) {
	payload, err := c.args.object("name", "expires_in")
	if err != nil {
		return nil, err
	}
	return aboutJob(decode[client.Job](c.api.CreateBindingWithBody(c.ctx, c.args.text("instance_id"),
		&client.CreateBindingParams{IdempotencyKey: c.args.idempotencyKey()}, mediaType, payload, c.forward)))
}

func rotateCredentials(c *call) (*answer, error) {
	payload, err := c.args.object("overlap", "expires_in")
	if err != nil {
		return nil, err
	}
	return aboutJob(decode[client.Job](c.api.RotateBindingWithBody(c.ctx, c.args.text("binding_id"),
		&client.RotateBindingParams{IdempotencyKey: c.args.idempotencyKey()}, mediaType, payload, c.forward)))
}

func deleteBinding(c *call) (*answer, error) {
	return aboutJob(decode[client.Job](c.api.DeleteBinding(c.ctx, c.args.text("binding_id"),
		&client.DeleteBindingParams{IdempotencyKey: c.args.idempotencyKey()}, c.forward)))
}

func getCredentials(c *call) (*answer, error) {
	id, err := c.bindingID()
	if err != nil {
		return nil, err
	}
	body, err := body(c.api.GetCredentials(c.ctx, id, c.forward))
	if err != nil {
		return nil, err
	}
	return &answer{
		body: body, whole: true,
		nextStep: "Use the credentials where the user wants them. Do not write them into source code, logs or chat.",
	}, nil
}

// bindingID is the binding_id given, or the newest active binding of the instance_id given.
func (c *call) bindingID() (string, error) {
	id, instanceID := c.args.text("binding_id"), c.args.text("instance_id")
	if (id == "") == (instanceID == "") {
		return "", wrongArgument("binding_id", "give either binding_id or instance_id")
	}
	if id != "" {
		return id, nil
	}
	return c.activeBinding(instanceID)
}

// activeBinding is the newest active binding of an instance.
func (c *call) activeBinding(instanceID string) (string, error) {
	var pending *client.Binding
	for page := (&client.ListBindingsParams{}); ; {
		_, list, err := decode[client.BindingList](c.api.ListBindings(c.ctx, instanceID, page, c.forward))
		if err != nil {
			return "", err
		}
		for _, binding := range list.Items {
			if binding.State == client.BindingStateActive {
				return binding.ID, nil
			}
			if binding.State == client.BindingStatePending {
				pending = &binding
			}
		}
		if page.Cursor = list.NextCursor; page.Cursor == nil {
			return "", noCredentials(instanceID, pending)
		}
	}
}

// noCredentials is what the API says of a binding that has no credentials yet, or of none.
func noCredentials(instanceID string, pending *client.Binding) error {
	problem := &client.Problem{Status: http.StatusConflict, InstanceID: &instanceID}
	detail := "The instance has no credentials: it is deleted, it failed, or it was made with bind false."
	problem.Code, problem.Detail = "binding_deleted", &detail
	if pending != nil {
		detail = "The credentials are not made yet."
		problem.Code, problem.JobID, problem.Retryable = "not_ready", pending.JobID, true
	}
	return &client.ProblemError{Problem: problem}
}
