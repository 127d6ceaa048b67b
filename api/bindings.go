package api

import (
	"context"

	"github.com/provisiond/provisiond/jobs"
)

// ListBindings implements StrictServerInterface.
func (s *server) ListBindings(ctx context.Context, r ListBindingsRequestObject) (ListBindingsResponseObject, error) {
	page, err := s.service.ListBindings(ctx, callerOf(ctx), r.InstanceID, pageRequest(r.Params.Limit, r.Params.Cursor))
	if err != nil {
		return nil, err
	}
	list := BindingList{Items: make([]Binding, len(page.Items)), NextCursor: optional(page.NextCursor)}
	for i := range page.Items {
		list.Items[i] = bindingOf(&page.Items[i])
	}
	return ListBindings200JSONResponse(list), nil
}

// GetBinding implements StrictServerInterface.
func (s *server) GetBinding(ctx context.Context, r GetBindingRequestObject) (GetBindingResponseObject, error) {
	b, err := s.service.GetBinding(ctx, callerOf(ctx), r.BindingID)
	return GetBinding200JSONResponse(bindingOf(&b)), err
}

// CreateBinding implements StrictServerInterface.
func (s *server) CreateBinding(ctx context.Context, r CreateBindingRequestObject) (CreateBindingResponseObject, error) {
	b := deref(r.Body)
	result, err := s.service.Bind(ctx, callerOf(ctx), jobs.BindRequest{
		InstanceID: r.InstanceID, Name: deref(b.Name), ExpiresIn: inSeconds(deref(b.ExpiresIn)),
		IdempotencyKey: deref(r.Params.IdempotencyKey),
	})
	if err != nil {
		return nil, err
	}
	body, headers, err := s.accepted(&result)
	if result.Existing {
		return CreateBinding200JSONResponse{Body: body, Headers: CreateBinding200ResponseHeaders(headers)}, err
	}
	return CreateBinding202JSONResponse{Body: body, Headers: CreateBinding202ResponseHeaders(headers)}, err
}

// RotateBinding implements StrictServerInterface.
func (s *server) RotateBinding(ctx context.Context, r RotateBindingRequestObject) (RotateBindingResponseObject, error) {
	b := deref(r.Body)
	request := jobs.RotateRequest{
		BindingID: r.BindingID, ExpiresIn: inSeconds(deref(b.ExpiresIn)), IdempotencyKey: deref(r.Params.IdempotencyKey),
	}
	if b.Overlap != nil {
		overlap := inSeconds(*b.Overlap)
		request.Overlap = &overlap
	}
	result, err := s.service.Rotate(ctx, callerOf(ctx), request)
	if err != nil {
		return nil, err
	}
	body, headers, err := s.accepted(&result)
	if result.Existing {
		return RotateBinding200JSONResponse{Body: body, Headers: RotateBinding200ResponseHeaders(headers)}, err
	}
	return RotateBinding202JSONResponse{Body: body, Headers: RotateBinding202ResponseHeaders(headers)}, err
}

// DeleteBinding implements StrictServerInterface.
func (s *server) DeleteBinding(ctx context.Context, r DeleteBindingRequestObject) (DeleteBindingResponseObject, error) {
	result, err := s.service.Unbind(ctx, callerOf(ctx), r.BindingID, deref(r.Params.IdempotencyKey))
	if err != nil {
		return nil, err
	}
	body, headers, err := s.accepted(&result)
	if result.Existing {
		return DeleteBinding200JSONResponse{Body: body, Headers: DeleteBinding200ResponseHeaders(headers)}, err
	}
	return DeleteBinding202JSONResponse{Body: body, Headers: DeleteBinding202ResponseHeaders(headers)}, err
}

// GetCredentials implements StrictServerInterface. It is the only answer that holds a secret.
func (s *server) GetCredentials(ctx context.Context, r GetCredentialsRequestObject) (GetCredentialsResponseObject, error) {
	c, err := s.service.ReadCredentials(ctx, callerOf(ctx), r.BindingID)
	if err != nil {
		return nil, err
	}
	return GetCredentials200JSONResponse{
		Body:    Credentials{BindingID: c.BindingID, InstanceID: c.InstanceID, Credentials: orEmpty(map[string]string(c.Values))},
		Headers: GetCredentials200ResponseHeaders{CacheControl: "no-store"},
	}, nil
}

func bindingOf(b *jobs.Binding) Binding {
	return Binding{
		ID: b.ID, InstanceID: b.InstanceID, Name: optional(b.Name), State: BindingState(b.State), JobID: optional(b.JobID),
		ExpiresAt: inUTC(b.ExpiresAt), RenewBefore: inUTC(b.RenewBefore), PredecessorID: optional(b.PredecessorID),
		CreatedAt: b.CreatedAt.UTC(),
	}
}
