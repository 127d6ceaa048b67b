package api

import "github.com/provisiond/provisiond/jobs"

// acceptedHeaders are those of an answer with a job. The generated types of each operation have the same
// fields, so that this converts to them.
type acceptedHeaders struct {
	ETag                string
	IdempotencyReplayed *bool
	Location            string
	RetryAfter          *int
}

// maybeAcceptedHeaders are those of an answer that may be a job or something else.
type maybeAcceptedHeaders struct {
	ETag                *string
	IdempotencyReplayed *bool
	Location            *string
	RetryAfter          *int
}

// accepted shows a job that a call has started or found, with its headers.
func (s *server) accepted(r *jobs.Result) (Job, acceptedHeaders, error) {
	body, err := s.job(&r.Job)
	return body, acceptedHeaders{
		ETag: etagOf(r.Job.Version), IdempotencyReplayed: optional(r.Replayed),
		Location: location(&r.Job), RetryAfter: optional(retryAfter(&r.Job)),
	}, err
}

func (h acceptedHeaders) maybe() maybeAcceptedHeaders {
	return maybeAcceptedHeaders{ETag: &h.ETag, IdempotencyReplayed: h.IdempotencyReplayed, Location: &h.Location, RetryAfter: h.RetryAfter}
}
