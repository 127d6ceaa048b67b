package api

import (
	"context"

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
	body, headers, err := s.accepted(&result)
	if err != nil {
		return nil, err
	}
	if !result.Existing {
		return CreateInstance202JSONResponse{Body: body, Headers: CreateInstance202ResponseHeaders(headers)}, nil
	}
	out := CreateInstance200JSONResponse{Headers: CreateInstance200ResponseHeaders(headers.maybe())}
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
		ExpiresIn:      inSeconds(deref(b.ExpiresIn)),
		Protected:      deref(b.DeletionProtection),
		Bind:           b.Bind == nil || *b.Bind,
		IdempotencyKey: deref(r.Params.IdempotencyKey),
	}
}

func (s *server) preflight(ctx context.Context, r jobs.StartRequest) (CreateInstanceResponseObject, error) {
	p, err := s.service.Preflight(ctx, callerOf(ctx), r)
	if err != nil {
		return nil, err
	}
	body, err := preflightOf(p)
	if err != nil {
		return nil, err
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
	if err != nil {
		return nil, err
	}
	etag := in.ETag()
	if parseIfNoneMatch(r.Params.IfNoneMatch).matches(etag) {
		return GetInstance304Response{Headers: NotModifiedResponseHeaders{ETag: etag}}, nil
	}
	return GetInstance200JSONResponse{Body: instanceOf(&in), Headers: GetInstance200ResponseHeaders{ETag: etag}}, nil
}

// DeleteInstance implements StrictServerInterface.
func (s *server) DeleteInstance(ctx context.Context, r DeleteInstanceRequestObject) (DeleteInstanceResponseObject, error) {
	request := jobs.DeleteRequest{
		InstanceID: r.InstanceID, IfMatch: ifMatch(r.Params.IfMatch), IdempotencyKey: deref(r.Params.IdempotencyKey),
	}
	if deref(r.Params.ValidateOnly) {
		return s.preflightDelete(ctx, request)
	}
	result, err := s.service.Delete(ctx, callerOf(ctx), request)
	if err != nil {
		return nil, err
	}
	body, headers, err := s.accepted(&result)
	if err != nil {
		return nil, err
	}
	if !result.Existing {
		return DeleteInstance202JSONResponse{Body: body, Headers: DeleteInstance202ResponseHeaders(headers)}, nil
	}
	out := DeleteInstance200JSONResponse{Headers: DeleteInstance200ResponseHeaders(headers.maybe())}
	return out, out.Body.FromJob(body)
}

func (s *server) preflightDelete(ctx context.Context, r jobs.DeleteRequest) (DeleteInstanceResponseObject, error) {
	p, err := s.service.PreflightDelete(ctx, callerOf(ctx), r)
	if err != nil {
		return nil, err
	}
	body, err := preflightOf(p)
	if err != nil {
		return nil, err
	}
	var out DeleteInstance200JSONResponse
	return out, out.Body.FromPreflight(body)
}

// CheckInstance implements StrictServerInterface.
func (s *server) CheckInstance(ctx context.Context, r CheckInstanceRequestObject) (CheckInstanceResponseObject, error) {
	result, err := s.service.Check(ctx, callerOf(ctx), jobs.CheckRequest{
		InstanceID: r.InstanceID, IdempotencyKey: deref(r.Params.IdempotencyKey),
	})
	if err != nil {
		return nil, err
	}
	body, headers, err := s.accepted(&result)
	if result.Existing {
		return CheckInstance200JSONResponse{Body: body, Headers: CheckInstance200ResponseHeaders(headers)}, err
	}
	return CheckInstance202JSONResponse{Body: body, Headers: CheckInstance202ResponseHeaders(headers)}, err
}

func instanceOf(in *jobs.Instance) Instance {
	out := Instance{
		ID: in.ID, Name: optional(in.Name), Service: in.Service, Plan: in.Plan, State: InstanceState(in.State),
		Parameters: orEmpty(in.Parameters), Labels: orEmpty(in.Labels), JobID: in.JobID,
		PlanVersion: optional(in.PlanVersion), ExpiresAt: inUTC(in.ExpiresAt), DeletionProtection: in.Protected,
		Usable: in.Usable, UpdateRepeatable: in.UpdateRepeatable,
		CheckedAt: inUTC(in.CheckedAt), Findings: make([]Finding, len(in.Findings)),
		CreatedAt: in.CreatedAt.UTC(), UpdatedAt: in.UpdatedAt.UTC(),
	}
	for i, f := range in.Findings {
		out.Findings[i] = Finding{Kind: FindingKind(f.Kind), ObjectKind: f.ObjectKind, ObjectName: f.ObjectName, Detail: f.Detail}
	}
	if in.Endpoint != nil {
		endpoint := map[string]string(in.Endpoint)
		out.Endpoint = &endpoint
	}
	return out
}
