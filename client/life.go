package client

import (
	"context"
	"errors"
	"net/http"
)

const ifMatchHeader = "If-Match"

// WithIfMatch lets an update or a deprovision happen only where the instance is still the version of the
// ETag, as its GET gave it. Otherwise the call is refused with the code precondition_failed.
func WithIfMatch(etag string) RequestEditorFn {
	return func(_ context.Context, req *http.Request) error {
		req.Header.Set(ifMatchHeader, etag)
		return nil
	}
}

// Updated is what came of an update. Exactly one of its fields is set.
type Updated struct {
	// Accepted is the job that changes plan or parameters.
	Accepted *Accepted
	// Instance is the instance where no job was needed.
	Instance *Instance
}

// Update changes an instance. Its errors are those of [SDK.Start].
func (s *SDK) Update(ctx context.Context, id InstanceID, req UpdateRequest, editors ...RequestEditorFn) (*Updated, error) {
	if req.ValidateOnly != nil && *req.ValidateOnly {
		return nil, errors.New("validate_only changes nothing: call PreflightUpdate")
	}
	resp, err := s.UpdateInstanceWithResponse(ctx, id, nil, req, editors...)
	if err != nil {
		return nil, err
	}
	if resp.JSON200 != nil {
		instance, err := resp.JSON200.AsInstance()
		if err != nil {
			return nil, err
		}
		return &Updated{Instance: &instance}, nil
	}
	job, err := acceptedOr(resp.HTTPResponse, resp.Body, resp.JSON202)
	if err != nil {
		return nil, err
	}
	return &Updated{Accepted: job}, nil
}

// PreflightUpdate says what an update with req would ask and what is wrong with it. It changes nothing.
func (s *SDK) PreflightUpdate(ctx context.Context, id InstanceID, req UpdateRequest) (*Preflight, error) {
	only := true
	req.ValidateOnly = &only
	resp, err := s.UpdateInstanceWithResponse(ctx, id, nil, req)
	if err != nil {
		return nil, err
	}
	if resp.JSON200 == nil {
		return nil, NewProblemError(resp.HTTPResponse, resp.Body)
	}
	preflight, err := resp.JSON200.AsPreflight()
	return &preflight, err
}

// Check begins to compare an instance with what exists; what is found is then in its Findings.
func (s *SDK) Check(ctx context.Context, id InstanceID, editors ...RequestEditorFn) (*Accepted, error) {
	resp, err := s.CheckInstanceWithResponse(ctx, id, nil, editors...)
	if err != nil {
		return nil, err
	}
	return foundOrAccepted(resp.HTTPResponse, resp.Body, resp.JSON200, resp.JSON202)
}

// Bind begins to make another set of credentials for an instance.
func (s *SDK) Bind(ctx context.Context, id InstanceID, req BindRequest, editors ...RequestEditorFn) (*Accepted, error) {
	resp, err := s.CreateBindingWithResponse(ctx, id, nil, req, editors...)
	if err != nil {
		return nil, err
	}
	return foundOrAccepted(resp.HTTPResponse, resp.Body, resp.JSON200, resp.JSON202)
}

// Rotate begins to make new credentials in the place of a binding's. The job's BindingID is the new binding.
func (s *SDK) Rotate(ctx context.Context, id BindingID, req RotateRequest, editors ...RequestEditorFn) (*Accepted, error) {
	resp, err := s.RotateBindingWithResponse(ctx, id, nil, req, editors...)
	if err != nil {
		return nil, err
	}
	return foundOrAccepted(resp.HTTPResponse, resp.Body, resp.JSON200, resp.JSON202)
}

// Unbind begins to remove a binding's credentials.
func (s *SDK) Unbind(ctx context.Context, id BindingID, editors ...RequestEditorFn) (*Accepted, error) {
	resp, err := s.DeleteBindingWithResponse(ctx, id, nil, editors...)
	if err != nil {
		return nil, err
	}
	return foundOrAccepted(resp.HTTPResponse, resp.Body, resp.JSON200, resp.JSON202)
}
