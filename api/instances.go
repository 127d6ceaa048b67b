package api

import (
	"context"
	"fmt"

	"github.com/provisiond/provisiond/jobs"
)

// CreateInstance implements StrictServerInterface.
func (s *server) CreateInstance(ctx context.Context, r CreateInstanceRequestObject) (CreateInstanceResponseObject, error) {
	start := startRequest(r)
	if deref(r.Body.ValidateOnly) {
		return s.preflight(ctx, start)
	}
	result, err := s.service.Start(ctx, callerOf(ctx), start)
	if err != nil {
		return nil, err
	}
	body, err := s.job(&result.Job)
	if err != nil {
		return nil, err
	}
	if !result.Existing {
		return CreateInstance202JSONResponse{Body: body, Headers: CreateInstance202ResponseHeaders{
			Location: location(&result.Job), ETag: etagOf(result.Job.Version),
			RetryAfter: optional(retryAfter(&result.Job)), IdempotencyReplayed: optional(result.Replayed),
		}}, nil
	}
	out := CreateInstance200JSONResponse{Headers: CreateInstance200ResponseHeaders{
		Location: optional(location(&result.Job)), ETag: optional(etagOf(result.Job.Version)),
		RetryAfter: optional(retryAfter(&result.Job)), IdempotencyReplayed: optional(result.Replayed),
	}}
	return out, out.Body.FromJob(body)
}

// startRequest reads the body, with openapi.yaml's defaults.
func startRequest(r CreateInstanceRequestObject) jobs.StartRequest {
	b := r.Body
	return jobs.StartRequest{
		Service: b.Service, Plan: b.Plan, Name: deref(b.Name),
		Parameters: deref(b.Parameters), Answers: deref(b.Answers),
		FailOnQuestion: deref(b.OnQuestion) == StartRequestOnQuestionFail,
		Labels:         orEmpty(map[string]string(deref(b.Labels))),
		Bind:           b.Bind == nil || *b.Bind,
		IdempotencyKey: deref(r.Params.IdempotencyKey),
	}
}

func (s *server) preflight(ctx context.Context, r jobs.StartRequest) (CreateInstanceResponseObject, error) {
	p, err := s.service.Preflight(ctx, callerOf(ctx), r)
	if err != nil {
		return nil, err
	}
	questions, err := expectedQuestions(p.Questions)
	if err != nil {
		return nil, fmt.Errorf("preflight: %w", err)
	}
	body := Preflight{
		Valid: len(p.Blockers) == 0, Blockers: make([]Blocker, len(p.Blockers)),
		Questions: questions, Price: priceOf(p.Price),
	}
	for i, b := range p.Blockers {
		body.Blockers[i] = Blocker{Code: string(b.Code), Pointer: optional(b.Pointer), Detail: b.Detail}
	}
	var out CreateInstance200JSONResponse
	return out, out.Body.FromPreflight(body)
}

// ListInstances implements StrictServerInterface.
func (s *server) ListInstances(ctx context.Context, r ListInstancesRequestObject) (ListInstancesResponseObject, error) {
	labels, err := labelsOf(r.Params.Label)
	if err != nil {
		return nil, err
	}
	page, err := s.service.ListInstances(ctx, callerOf(ctx), jobs.InstanceFilter{
		State:   jobs.InstanceState(deref(r.Params.State)),
		Service: deref(r.Params.Service),
		Name:    deref(r.Params.Name),
		Labels:  labels,
	}, pageRequest(r.Params.Limit, r.Params.Cursor))
	if err != nil {
		return nil, err
	}
	list := InstanceList{Items: make([]Instance, len(page.Items)), NextCursor: optional(page.NextCursor)}
	for i := range page.Items {
		list.Items[i] = instanceOf(&page.Items[i])
	}
	return ListInstances200JSONResponse(list), nil
}

// GetInstance implements StrictServerInterface.
func (s *server) GetInstance(ctx context.Context, r GetInstanceRequestObject) (GetInstanceResponseObject, error) {
	in, err := s.service.GetInstance(ctx, callerOf(ctx), r.InstanceID)
	return GetInstance200JSONResponse(instanceOf(&in)), err
}

// DeleteInstance implements StrictServerInterface.
func (s *server) DeleteInstance(ctx context.Context, r DeleteInstanceRequestObject) (DeleteInstanceResponseObject, error) {
	result, err := s.service.Delete(ctx, callerOf(ctx), jobs.DeleteRequest{InstanceID: r.InstanceID, IdempotencyKey: deref(r.Params.IdempotencyKey)})
	if err != nil {
		return nil, err
	}
	body, err := s.job(&result.Job)
	if result.Existing {
		return DeleteInstance200JSONResponse{Body: body, Headers: DeleteInstance200ResponseHeaders{
			Location: location(&result.Job), ETag: etagOf(result.Job.Version),
			RetryAfter: optional(retryAfter(&result.Job)), IdempotencyReplayed: optional(result.Replayed),
		}}, err
	}
	return DeleteInstance202JSONResponse{Body: body, Headers: DeleteInstance202ResponseHeaders{
		Location: location(&result.Job), ETag: etagOf(result.Job.Version),
		RetryAfter: optional(retryAfter(&result.Job)), IdempotencyReplayed: optional(result.Replayed),
	}}, err
}

func instanceOf(in *jobs.Instance) Instance {
	out := Instance{
		ID: in.ID, Name: optional(in.Name), Service: in.Service, Plan: in.Plan, State: InstanceState(in.State),
		Parameters: orEmpty(in.Parameters), Labels: orEmpty(in.Labels), JobID: in.JobID,
		CreatedAt: in.CreatedAt.UTC(), UpdatedAt: in.UpdatedAt.UTC(),
	}
	if in.Endpoint != nil {
		endpoint := map[string]string(in.Endpoint)
		out.Endpoint = &endpoint
	}
	return out
}
