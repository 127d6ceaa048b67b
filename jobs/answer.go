package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/provisiond/provisiond/jobs/catalog"
)

// AnswerRequest is an answer to a question.
type AnswerRequest struct {
	JobID, QuestionID string
	Action            string // ActionAccept, ActionDecline or ActionCancel
	Content           map[string]any
	IdempotencyKey    string // "" = none
}

// Answer takes an answer. When it returns without error, the answer will be used: it commits together
// with the job's transition and the worker's ticket. A wrong answer leaves the question open.
// Declining or canceling cancels the job.
//
// Errors: NotFound, PersonRequired, InvalidRequest, QuestionAlreadyAnswered, QuestionHasExpired,
// QuestionWasWithdrawn, QuoteChanged, IdempotencyKeyReused, IdempotencyInProgress.
func (s *Service) Answer(ctx context.Context, c Caller, r AnswerRequest) (Result, error) {
	fp := r
	fp.IdempotencyKey = ""
	result, err := s.idempotent(ctx, c, r.IdempotencyKey, "answer", fp, func(w *write) (Result, error) {
		j, err := lockOwn(ctx, w.tx, c.TenantID, r.JobID)
		if err != nil {
			return Result{}, err
		}
		if err := s.answer(ctx, w, c, j, r); err != nil {
			return Result{}, err
		}
		job, err := getJob(ctx, w.tx, c.TenantID, j.ID)
		return Result{Job: job}, err
	})
	if errors.Is(err, QuoteChanged) {
		err = errors.Join(err, s.askCostAgain(ctx, c, r))
	}
	return result, err
}

// answer applies the answer to a locked job.
func (s *Service) answer(ctx context.Context, w *write, c Caller, j *jobRow, r AnswerRequest) error {
	q, last, err := findQuestion(ctx, w, j, r.QuestionID)
	if err != nil {
		return err
	}
	if q.question.PersonOnly && !c.isPerson() {
		return &Error{
			Code: PersonRequired, JobID: j.ID, QuestionID: q.id,
			Detail: "Only a person may answer this question; give them its answer_url.",
		}
	}
	a := givenAnswer{Action: r.Action, Content: r.Content}
	if q.state != QuestionOpen {
		return s.answerClosed(q, a)
	}
	if !q.expiresAt.After(j.Now) {
		return &Error{Code: QuestionHasExpired, JobID: j.ID, Detail: "The question has expired."}
	}
	if a.Action != ActionAccept {
		return s.declineJob(ctx, w, c, j, q, a)
	}
	if errs := checkContent(q, a.Content); len(errs) > 0 {
		return invalidContent(errs)
	}
	if (q.origin == originCost || q.origin == originDestroy) && !confirmed(a.Content) {
		return s.declineJob(ctx, w, c, j, q, a)
	}
	if q.origin == originCost {
		if plan := s.planOf(j); quoteOutdated(q, plan) {
			return &Error{Code: QuoteChanged, JobID: j.ID, Detail: "The price or the plan has changed since the question was asked; the job asks again."}
		}
	}
	return s.acceptAnswer(ctx, w, c, j, q, a, last)
}

// findQuestion finds a question of a locked job, and whether it is the last open one. Error: NotFound.
func findQuestion(ctx context.Context, w *write, j *jobRow, id string) (q *questionRow, last bool, err error) {
	questions, err := questionsOf(ctx, w.tx, j)
	if err != nil {
		return nil, false, err
	}
	i := slices.IndexFunc(questions, func(q *questionRow) bool { return q.id == id })
	if i < 0 {
		return nil, false, &Error{Code: NotFound, Detail: "there is no such question"}
	}
	return questions[i], len(openQuestions(questions)) == 1, nil
}

// quoteOutdated reports whether a cost question was asked for something else than the plan costs now.
// A plan that was removed keeps its last price; one that has become free needs no other answer.
func quoteOutdated(q *questionRow, plan *catalog.Plan) bool {
	return plan != nil && plan.ConfirmCost && !q.quote.holds(plan)
}

// answerClosed settles an answer to a question that is not open: the same again is no error.
func (s *Service) answerClosed(q *questionRow, a givenAnswer) error {
	if q.state == QuestionExpired {
		return &Error{Code: QuestionHasExpired, JobID: q.jobID, Detail: "The question has expired."}
	}
	if q.state == QuestionWithdrawn {
		return &Error{Code: QuestionWasWithdrawn, JobID: q.jobID, Detail: "The question is no longer asked."}
	}
	before, err := s.openAnswer(q)
	if err != nil {
		return err
	}
	if before == nil || !sameAnswer(*before, a) {
		return &Error{Code: QuestionAlreadyAnswered, JobID: q.jobID, Detail: "The question was answered before, in another way."}
	}
	return nil
}

func sameAnswer(a, b givenAnswer) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func checkContent(q *questionRow, content map[string]any) []catalog.FieldError {
	if content == nil {
		return []catalog.FieldError{{Pointer: "/content", Detail: "is required with action accept"}}
	}
	errs := catalog.CheckAnswer(q.question.Schema, content)
	for i := range errs {
		errs[i].Pointer = "/content" + errs[i].Pointer
	}
	return errs
}

func invalidContent(errs []catalog.FieldError) error {
	return &Error{
		Code: InvalidRequest, Fields: errs,
		Detail: fmt.Sprintf("%s: %s. The question stays open.", errs[0].Pointer, errs[0].Detail),
	}
}

// acceptAnswer closes the question and, when it was the last open one, lets the job go on.
func (s *Service) acceptAnswer(ctx context.Context, w *write, c Caller, j *jobRow, q *questionRow, a givenAnswer, last bool) error {
	if err := s.saveAnswer(ctx, w, q, a, QuestionAnswered, c.KeyID); err != nil {
		return err
	}
	w.event(j, c.KeyID, "question.answered", map[string]any{"question_id": q.id, "name": q.question.Name})
	if q.origin == originParameter {
		if err := s.setParameters(ctx, w, j, q, a.Content); err != nil {
			return err
		}
	}
	if q.origin == originDestroy {
		if err := beginDestroy(ctx, w, j.InstanceID); err != nil {
			return err
		}
	}
	if !last {
		if err := s.setAwaitingTimes(ctx, w, j); err != nil {
			return err
		}
		return s.saveJob(ctx, w, j)
	}
	return s.resume(ctx, w, j)
}

// resume lets a job that awaited input go on, with the working time that it had left.
func (s *Service) resume(ctx context.Context, w *write, j *jobRow) error {
	j.DeadlineAt = j.Now.Add(*j.workLeft)
	j.Progress = Progress{Percent: j.Progress.Percent, Step: stepQueued, Message: "Queued."}
	return s.requeue(ctx, w, j)
}

// requeue makes the job wait for a worker, under a new epoch and with a ticket.
func (s *Service) requeue(ctx context.Context, w *write, j *jobRow) error {
	j.to(queued)
	j.epoch++
	j.due(s.ticketCheck())
	w.ticket(j)
	return s.saveJob(ctx, w, j)
}

// setParameters adds an answer to the instance's parameters.
func (s *Service) setParameters(ctx context.Context, w *write, j *jobRow, q *questionRow, content map[string]any) error {
	if !q.question.Secret {
		text, err := json.Marshal(content)
		if err != nil {
			return fmt.Errorf("parameters: %w", err)
		}
		_, err = w.tx.Exec(ctx, `
			UPDATE instance SET parameters = parameters || $2, updated_at = clock_timestamp() WHERE id = $1`, j.InstanceID, text)
		if err != nil {
			return fmt.Errorf("set parameters: %w", err)
		}
		return nil
	}
	at := place{j.tenantID, "instance", j.InstanceID, "secret_parameters"}
	var sealed []byte
	err := w.tx.QueryRow(ctx, `SELECT secret_parameters FROM instance WHERE id = $1 FOR UPDATE`, j.InstanceID).Scan(&sealed)
	if err != nil {
		return fmt.Errorf("read secret parameters: %w", err)
	}
	secret := map[string]any{}
	if err := s.cfg.Sealer.open(at, sealed, &secret); err != nil {
		return err
	}
	maps.Copy(secret, content)
	if sealed, err = s.cfg.Sealer.seal(at, secret); err != nil {
		return err
	}
	_, err = w.tx.Exec(ctx, `
		UPDATE instance SET secret_parameters = $2, updated_at = clock_timestamp() WHERE id = $1`, j.InstanceID, sealed)
	if err != nil {
		return fmt.Errorf("set secret parameters: %w", err)
	}
	return nil
}

// askCostAgain withdraws a cost question whose quote no longer holds, and asks with today's price. It
// has a transaction of its own, because the answer that found this out is refused.
func (s *Service) askCostAgain(ctx context.Context, c Caller, r AnswerRequest) error {
	return s.write(ctx, func(w *write) error {
		j, err := lockOwn(ctx, w.tx, c.TenantID, r.JobID)
		if err != nil {
			return err
		}
		q, _, err := findQuestion(ctx, w, j, r.QuestionID)
		plan := s.planOf(j)
		if err != nil || q.state != QuestionOpen || !quoteOutdated(q, plan) {
			return err
		}
		if _, err := w.tx.Exec(ctx, `UPDATE question SET state = 'withdrawn' WHERE id = $1`, q.id); err != nil {
			return fmt.Errorf("withdraw question: %w", err)
		}
		question, _ := plan.CostQuestion()
		again := newQuestionRow(j, question, originCost, s.expiryOf(plan, question))
		again.quote = quoteOf(plan)
		return s.ask(ctx, w, j, []*questionRow{again})
	})
}

// planOf is the catalog's plan of the job; nil where it has been removed.
func (s *Service) planOf(j *jobRow) *catalog.Plan { return s.planNamed(j.Service, j.Plan) }

// planNamed is the catalog's plan of these IDs; nil where it has been removed.
func (s *Service) planNamed(serviceID, planID string) *catalog.Plan {
	service, ok := s.Catalog().Service(serviceID)
	if !ok {
		return nil
	}
	plan, _ := service.Plan(planID)
	return plan
}
