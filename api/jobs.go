package api

import (
	"context"
	"time"

	"github.com/provisiond/provisiond/jobs"
)

// GetJob implements StrictServerInterface: the poll.
func (s *server) GetJob(ctx context.Context, r GetJobRequestObject) (GetJobResponseObject, error) {
	wait, applied := s.waitOf(r.Params.Wait, r.Params.Prefer)
	known := parseIfNoneMatch(r.Params.IfNoneMatch)
	j, err := s.service.Wait(ctx, callerOf(ctx), r.JobID, known.version(), wait)
	if err != nil {
		return nil, err
	}
	etag := etagOf(j.Version)
	if known.matches(etag) {
		return GetJob304Response{Headers: GetJob304ResponseHeaders{
			ETag: etag, RetryAfter: optional(retryAfter(&j)), PreferenceApplied: applied,
		}}, nil
	}
	body, err := s.job(&j)
	return GetJob200JSONResponse{Body: body, Headers: GetJob200ResponseHeaders{
		ETag: etag, RetryAfter: optional(retryAfter(&j)), PreferenceApplied: applied,
	}}, err
}

// ListJobs implements StrictServerInterface.
func (s *server) ListJobs(ctx context.Context, r ListJobsRequestObject) (ListJobsResponseObject, error) {
	labels, err := labelsOf(r.Params.Label)
	if err != nil {
		return nil, err
	}
	page, err := s.service.ListJobs(ctx, callerOf(ctx), jobs.JobFilter{
		State:      jobs.State(deref(r.Params.State)),
		Operation:  jobs.Operation(deref(r.Params.Operation)),
		InstanceID: deref(r.Params.InstanceID),
		Service:    deref(r.Params.Service),
		Labels:     labels,
	}, pageRequest(r.Params.Limit, r.Params.Cursor))
	if err != nil {
		return nil, err
	}
	list := JobList{Items: make([]Job, len(page.Items)), NextCursor: optional(page.NextCursor)}
	for i := range page.Items {
		if list.Items[i], err = s.job(&page.Items[i]); err != nil {
			return nil, err
		}
	}
	return ListJobs200JSONResponse(list), nil
}

// ListJobEvents implements StrictServerInterface.
func (s *server) ListJobEvents(ctx context.Context, r ListJobEventsRequestObject) (ListJobEventsResponseObject, error) {
	page, err := s.service.ListEvents(ctx, callerOf(ctx), r.JobID, pageRequest(r.Params.Limit, r.Params.Cursor))
	if err != nil {
		return nil, err
	}
	list := EventList{Items: make([]Event, len(page.Items)), NextCursor: optional(page.NextCursor)}
	for i, e := range page.Items {
		list.Items[i] = Event{
			ID: e.ID, Type: e.Type, JobID: optional(e.JobID), InstanceID: optional(e.InstanceID),
			Actor: e.Actor, At: e.At.UTC(), Data: orEmpty(e.Data),
		}
	}
	return ListJobEvents200JSONResponse(list), nil
}

// CancelJob implements StrictServerInterface.
func (s *server) CancelJob(ctx context.Context, r CancelJobRequestObject) (CancelJobResponseObject, error) {
	result, err := s.service.Cancel(ctx, callerOf(ctx), r.JobID, deref(r.Params.IdempotencyKey))
	if err != nil {
		return nil, err
	}
	body, headers, err := s.accepted(&result)
	return CancelJob202JSONResponse{Body: body, Headers: CancelJob202ResponseHeaders(headers)}, err
}

// retryAfter is when to poll next, in seconds: at least 1, or 0 when the job is finished.
func retryAfter(j *jobs.Job) int { return seconds(j.PollAfter()) }

// location is where to poll the job. It is relative, so that it holds behind any proxy.
func location(j *jobs.Job) string { return "/v1/jobs/" + j.ID }

// job shows a job.
func (s *server) job(j *jobs.Job) (Job, error) {
	out := Job{
		ID: j.ID, Operation: Operation(j.Operation), State: JobState(j.State), Phase: optional(JobPhase(j.Phase)),
		Progress: Progress{Percent: j.Progress.Percent, Step: j.Progress.Step, Message: j.Progress.Message},
		Service:  j.Service, Plan: j.Plan, InstanceID: j.InstanceID, BindingID: optional(j.BindingID),
		Questions: make([]Question, len(j.Questions)), Leftovers: make([]Leftover, len(j.Leftovers)),
		Version: j.Version, PollAfterMs: int(j.PollAfter().Milliseconds()),
		CreatedAt: j.CreatedAt.UTC(), UpdatedAt: j.UpdatedAt.UTC(), DeadlineAt: j.DeadlineAt.UTC(), FinishedAt: inUTC(j.FinishedAt),
	}
	if j.Error != nil {
		out.Error = &JobError{Code: j.Error.Code, Message: j.Error.Message, Retryable: j.Error.Retryable}
	}
	for i, l := range j.Leftovers {
		out.Leftovers[i] = Leftover{Kind: l.Kind, Name: l.Name, Reason: l.Reason}
	}
	for i := range j.Questions {
		var err error
		if out.Questions[i], err = s.question(&j.Questions[i]); err != nil {
			return Job{}, err
		}
	}
	return out, nil
}

func inUTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	utc := t.UTC()
	return &utc
}

// orEmpty is {} rather than null.
func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}
