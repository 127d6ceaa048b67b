package api

import (
	"context"
	"fmt"

	"github.com/provisiond/provisiond/jobs"
)

// AnswerQuestion implements StrictServerInterface.
func (s *server) AnswerQuestion(ctx context.Context, r AnswerQuestionRequestObject) (AnswerQuestionResponseObject, error) {
	result, err := s.service.Answer(ctx, callerOf(ctx), jobs.AnswerRequest{
		JobID: r.JobID, QuestionID: r.QuestionID,
		Action: string(r.Body.Action), Content: deref(r.Body.Content),
		IdempotencyKey: deref(r.Params.IdempotencyKey),
	})
	if err != nil {
		return nil, err
	}
	body, err := s.job(&result.Job)
	return AnswerQuestion200JSONResponse{Body: body, Headers: AnswerQuestion200ResponseHeaders{
		ETag: etagOf(result.Job.Version), RetryAfter: optional(retryAfter(&result.Job)),
		IdempotencyReplayed: optional(result.Replayed),
	}}, err
}

// answerURL is the page where a person answers a question.
func (s *server) answerURL(questionID string) string { return s.publicURL + answerPath(questionID) }

// question shows a question.
func (s *server) question(q *jobs.Question) (Question, error) {
	schema, err := objectOf(q.Schema)
	if err != nil {
		return Question{}, fmt.Errorf("question %s: %w", q.ID, err)
	}
	out := Question{
		ID: q.ID, Name: q.Name, Message: q.Message, Schema: schema, Secret: q.Secret,
		AnswerableBy: AnswerableBy(q.AnswerableBy), OnExpiry: QuestionOnExpiryFail, State: QuestionState(q.State),
		Price: priceOf(q.Price), AskedAt: q.AskedAt.UTC(), ExpiresAt: q.ExpiresAt.UTC(),
		AnswerURL: s.answerURL(q.ID),
	}
	if q.Default != nil {
		out.OnExpiry, out.Default = QuestionOnExpiryDefault, &q.Default
	}
	return out, nil
}
