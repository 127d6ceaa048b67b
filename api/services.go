package api

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/provisiond/provisiond/jobs"
	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/provider"
)

// ListServices implements StrictServerInterface.
func (s *server) ListServices(_ context.Context, r ListServicesRequestObject) (ListServicesResponseObject, error) {
	page, err := s.service.ListServices(pageRequest(r.Params.Limit, r.Params.Cursor))
	if err != nil {
		return nil, err
	}
	etag := s.service.Catalog().ETag
	if parseIfNoneMatch(r.Params.IfNoneMatch).matches(etag) {
		return ListServices304Response{Headers: NotModifiedResponseHeaders{ETag: etag}}, nil
	}
	list := ServiceList{Items: make([]Service, len(page.Items)), NextCursor: optional(page.NextCursor)}
	for i := range page.Items {
		list.Items[i] = s.services[page.Items[i].ID]
	}
	return ListServices200JSONResponse{Body: list, Headers: ListServices200ResponseHeaders{ETag: etag}}, nil
}

// GetService implements StrictServerInterface.
func (s *server) GetService(_ context.Context, r GetServiceRequestObject) (GetServiceResponseObject, error) {
	service, ok := s.services[r.ServiceID]
	if !ok {
		return nil, &jobs.Error{Code: jobs.NotFound, Detail: "There is no such service."}
	}
	etag := s.service.Catalog().ETag
	if parseIfNoneMatch(r.Params.IfNoneMatch).matches(etag) {
		return GetService304Response{Headers: NotModifiedResponseHeaders{ETag: etag}}, nil
	}
	return GetService200JSONResponse{Body: service, Headers: GetService200ResponseHeaders{ETag: etag}}, nil
}

// servicesOf shows the catalog, by service ID. It never changes, so this is done once.
func servicesOf(c *catalog.Catalog) (map[string]Service, error) {
	services := make(map[string]Service, len(c.Services))
	for _, s := range c.Services {
		out := Service{ID: s.ID, Name: s.Name, Description: s.Description, Simulated: s.Simulated, Plans: []Plan{}}
		for i := range s.Plans {
			plan, err := planOf(&s.Plans[i])
			if err != nil {
				return nil, fmt.Errorf("service %s: plan %s: %w", s.ID, s.Plans[i].ID, err)
			}
			out.Plans = append(out.Plans, plan)
		}
		services[s.ID] = out
	}
	return services, nil
}

func planOf(p *catalog.Plan) (Plan, error) {
	parameters, err := objectOf(p.Parameters)
	if err != nil {
		return Plan{}, err
	}
	questions, err := expectedQuestions(p.Expected())
	return Plan{
		ID: p.ID, Name: p.Name, Description: p.Description, Price: priceOf(p.Price),
		Parameters: parameters, Questions: questions,
		UpdatesTo: append([]string{}, p.UpdatesTo...), Expiry: expiryOf(p.Expiry),
	}, err
}

// expiryOf is nil where the plan's instances live until they are deleted.
func expiryOf(e catalog.Expiry) *Expiry {
	if e.Default == 0 && e.Max == 0 {
		return nil
	}
	return &Expiry{Default: optional(seconds(e.Default)), Max: optional(seconds(e.Max))}
}

func expectedQuestions(questions []provider.Question) ([]ExpectedQuestion, error) {
	out := make([]ExpectedQuestion, len(questions))
	for i, q := range questions {
		schema, err := objectOf(q.Schema)
		if err != nil {
			return nil, fmt.Errorf("question %s: %w", q.Name, err)
		}
		out[i] = ExpectedQuestion{
			Name: q.Name, Message: q.Message, Schema: schema, Secret: q.Secret, AnswerableBy: AnswerableBy(jobs.AnswererAny),
		}
		if q.PersonOnly {
			out[i].AnswerableBy = AnswerableBy(jobs.AnswererPerson)
		}
	}
	return out, nil
}

func priceOf(p *catalog.Price) *Price {
	if p == nil {
		return nil
	}
	return &Price{Amount: p.Amount, Currency: p.Currency, Per: PricePer(p.Per)}
}

// objectOf reads a JSON object that this service holds.
func objectOf(text json.RawMessage) (map[string]any, error) {
	object := map[string]any{}
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	return object, nil
}
