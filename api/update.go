package api

import (
	"context"
	"strings"
	"time"

	"github.com/oapi-codegen/nullable"

	"github.com/provisiond/provisiond/jobs"
)

// UpdateInstance implements StrictServerInterface.
func (s *server) UpdateInstance(ctx context.Context, r UpdateInstanceRequestObject) (UpdateInstanceResponseObject, error) {
	update := updateRequest(r)
	if deref(r.Body.ValidateOnly) {
		return s.preflightUpdate(ctx, update)
	}
	result, err := s.service.Update(ctx, callerOf(ctx), update)
	if err != nil {
		return nil, err
	}
	if result.Job == nil {
		return s.updated(ctx, r.InstanceID, result.Replayed)
	}
	body, headers, err := s.accepted(&jobs.Result{Job: *result.Job, Replayed: result.Replayed})
	return UpdateInstance202JSONResponse{Body: body, Headers: UpdateInstance202ResponseHeaders(headers)}, err
}

// updated answers with the instance as it is now: nothing is left to do.
func (s *server) updated(ctx context.Context, instanceID string, replayed bool) (UpdateInstanceResponseObject, error) {
	in, err := s.service.GetInstance(ctx, callerOf(ctx), instanceID)
	if err != nil {
		return nil, err
	}
	out := UpdateInstance200JSONResponse{Headers: UpdateInstance200ResponseHeaders{
		ETag: optional(in.ETag()), IdempotencyReplayed: optional(replayed),
	}}
	return out, out.Body.FromInstance(instanceOf(&in))
}

func (s *server) preflightUpdate(ctx context.Context, r jobs.UpdateRequest) (UpdateInstanceResponseObject, error) {
	p, err := s.service.PreflightUpdate(ctx, callerOf(ctx), r)
	if err != nil {
		return nil, err
	}
	body, err := preflightOf(p)
	if err != nil {
		return nil, err
	}
	var out UpdateInstance200JSONResponse
	return out, out.Body.FromPreflight(body)
}

func updateRequest(r UpdateInstanceRequestObject) jobs.UpdateRequest {
	b := r.Body
	update := jobs.UpdateRequest{
		InstanceID: r.InstanceID, Plan: deref(b.Plan),
		Parameters: deref(b.Parameters), Answers: deref(b.Answers),
		FailOnQuestion: deref(b.OnQuestion) == UpdateRequestOnQuestionFail,
		Protected:      b.DeletionProtection,
		IfMatch:        ifMatch(r.Params.IfMatch), IdempotencyKey: deref(r.Params.IdempotencyKey),
	}
	if b.Labels != nil {
		update.Labels = orEmpty(map[string]string(*b.Labels))
	}
	update.ExpiresIn, update.NoExpiry = lifetime(b.ExpiresIn)
	return update
}

// lifetime reads an expires_in that may be null, which takes the end away.
func lifetime(in nullable.Nullable[int]) (expiresIn time.Duration, never bool) {
	if in.IsNull() {
		return 0, true
	}
	n, _ := in.Get() // 0 where it is not given
	return inSeconds(n), false
}

// inSeconds is the duration of a number of seconds, which openapi.yaml bounds.
func inSeconds(n int) time.Duration { return time.Duration(n) * time.Second }

// ifMatch is the version that the client has seen; "" is any. A proxy that compresses answers makes their
// entity tags weak, and the version is the same.
func ifMatch(header *IfMatch) string {
	tag := strings.TrimPrefix(deref(header), "W/")
	if tag == "*" {
		return ""
	}
	return tag
}
