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
	return Binding{ID: b.ID, InstanceID: b.InstanceID, State: BindingState(b.State), CreatedAt: b.CreatedAt.UTC()}
}
