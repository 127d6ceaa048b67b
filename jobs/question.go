package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/provider"
)

// questionRow is a question with what its tenant does not see.
type questionRow struct {
	id, jobID, tenantID string
	question            provider.Question
	origin              string
	quote               *quote
	state               QuestionState
	expiry              time.Duration // from now, when it is inserted
	expiresAt           time.Time     // when it was read
	answer              *givenAnswer
	// sealedAnswer is the answer as stored.
	sealedAnswer []byte
}

// givenAnswer is an answer as it is sealed.
type givenAnswer struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitempty"`
}

// The actions of an answer, as in MCP's elicitation.
const (
	ActionAccept  = "accept"
	ActionDecline = "decline"
	ActionCancel  = "cancel"
)

// quote is what a cost question was asked for. An answer to it holds for nothing else.
type quote struct {
	Price       *catalog.Price `json:"price"`
	PlanVersion string         `json:"plan_version"`
}

func quoteOf(p *catalog.Plan) *quote { return &quote{p.Price, p.Version} }

// holds reports whether the quote is still what the catalog says.
func (q *quote) holds(p *catalog.Plan) bool {
	return q != nil && q.PlanVersion == p.Version && p.Price != nil && q.Price != nil && *q.Price == *p.Price
}

func newQuestionRow(j *jobRow, q provider.Question, origin string, expiry time.Duration) *questionRow {
	return &questionRow{
		id: newID("qst"), jobID: j.ID, tenantID: j.tenantID,
		question: q, origin: origin, state: QuestionOpen, expiry: expiry,
	}
}

func (q *questionRow) place() place { return place{q.tenantID, "question", q.id, "answer"} }

// queueQuestion inserts the question.
func (s *Service) queueQuestion(batch *pgx.Batch, q *questionRow) error {
	var answer []byte
	if q.answer != nil {
		var err error
		if answer, err = s.cfg.Sealer.seal(q.place(), q.answer); err != nil {
			return err
		}
	}
	var byDefault []byte
	if q.question.Default != nil {
		var err error
		if byDefault, err = json.Marshal(q.question.Default); err != nil {
			return fmt.Errorf("question %s: %w", q.question.Name, err)
		}
	}
	quoted, err := marshalMaybe(q.quote)
	if err != nil {
		return fmt.Errorf("question %s: %w", q.question.Name, err)
	}
	answerableBy := AnswererAny
	if q.question.PersonOnly {
		answerableBy = AnswererPerson
	}
	batch.Queue(`
		INSERT INTO question (id, tenant_id, job_id, name, message, schema, secret, answerable_by, origin, default_answer,
		                      quote, state, answer, expires_at, answered_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, clock_timestamp() + $14::interval,
		        CASE WHEN $12 = 'answered' THEN clock_timestamp() END)`,
		q.id, q.tenantID, q.jobID, q.question.Name, q.question.Message, q.question.Schema, q.question.Secret, answerableBy,
		q.origin, byDefault, quoted, q.state, answer, q.expiry)
	return nil
}

const questionSelect = `
	SELECT id, name, message, schema, secret, answerable_by = 'person', origin, default_answer, quote, state, expires_at, answer
	FROM question WHERE tenant_id = $1 AND job_id = $2 `

// questionsOf reads a job's questions, oldest first. The job is locked, and so are they: whoever
// changes a question locks its job first.
func questionsOf(ctx context.Context, tx pgx.Tx, j *jobRow) ([]*questionRow, error) {
	rows, err := tx.Query(ctx, questionSelect+`ORDER BY id`, j.tenantID, j.ID)
	if err != nil {
		return nil, fmt.Errorf("read questions: %w", err)
	}
	questions, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*questionRow, error) {
		q := &questionRow{jobID: j.ID, tenantID: j.tenantID}
		var byDefault, quoted []byte
		err := row.Scan(&q.id, &q.question.Name, &q.question.Message, &q.question.Schema, &q.question.Secret,
			&q.question.PersonOnly, &q.origin, &byDefault, &quoted, &q.state, &q.expiresAt, &q.sealedAnswer)
		if err != nil {
			return nil, err
		}
		if byDefault != nil {
			err = json.Unmarshal(byDefault, &q.question.Default)
		}
		return q, errors.Join(err, unmarshalMaybe(quoted, &q.quote))
	})
	if err != nil {
		return nil, fmt.Errorf("read questions: %w", err)
	}
	return questions, nil
}

// openAnswer decrypts the question's answer; nil where there is none.
func (s *Service) openAnswer(q *questionRow) (*givenAnswer, error) {
	if q.sealedAnswer == nil {
		return nil, nil //nolint:nilnil // no answer is not an error
	}
	var a givenAnswer
	return &a, s.cfg.Sealer.open(q.place(), q.sealedAnswer, &a)
}

// openQuestions picks the questions that wait for an answer.
func openQuestions(questions []*questionRow) []*questionRow {
	var open []*questionRow
	for _, q := range questions {
		if q.state == QuestionOpen {
			open = append(open, q)
		}
	}
	return open
}

// saveAnswer closes the question with an answer: given by a key, or its default at expiry.
func (s *Service) saveAnswer(ctx context.Context, w *write, q *questionRow, a givenAnswer, to QuestionState, by string) error {
	sealed, err := s.cfg.Sealer.seal(q.place(), a)
	if err != nil {
		return err
	}
	_, err = w.tx.Exec(ctx, `
		UPDATE question SET state = $2, answer = $3, answered_by = nullif($4, ''),
		       answered_at = CASE WHEN $2 = 'answered' THEN clock_timestamp() END
		WHERE id = $1`, q.id, to, sealed, by)
	if err != nil {
		return fmt.Errorf("save answer: %w", err)
	}
	q.state, q.sealedAnswer = to, sealed
	return nil
}

// closeQuestions moves the job's open questions to a state without an answer.
func closeQuestions(ctx context.Context, w *write, jobID string, to QuestionState) error {
	_, err := w.tx.Exec(ctx, `UPDATE question SET state = $2 WHERE job_id = $1 AND state = 'open'`, jobID, to)
	if err != nil {
		return fmt.Errorf("close questions: %w", err)
	}
	return nil
}

// ask puts a locked job into awaiting_input with new questions, beside those that are open already.
func (s *Service) ask(ctx context.Context, w *write, j *jobRow, questions []*questionRow) error {
	if err := s.insertQuestions(ctx, w, j, questions); err != nil {
		return err
	}
	if j.State != AwaitingInput {
		left := max(j.DeadlineAt.Sub(j.Now), 0)
		j.to(awaiting)
		j.workLeft = &left
		j.Progress = Progress{Percent: j.Progress.Percent, Step: "questions", Message: "Waits for answers."}
	}
	if err := s.setAwaitingTimes(ctx, w, j); err != nil {
		return err
	}
	return s.saveJob(ctx, w, j)
}

// insertQuestions writes a worker's questions and their history.
func (s *Service) insertQuestions(ctx context.Context, w *write, j *jobRow, questions []*questionRow) error {
	batch := &pgx.Batch{}
	for _, q := range questions {
		if err := s.queueQuestion(batch, q); err != nil {
			return err
		}
		w.event(j, actorWorker, "question.asked", map[string]any{"question_id": q.id, "name": q.question.Name})
	}
	return wrap("insert questions", w.tx.SendBatch(ctx, batch).Close())
}

// setAwaitingTimes makes the job due at the next expiry of a question, and its deadline what it is
// when the last one is answered as late as can be.
func (s *Service) setAwaitingTimes(ctx context.Context, w *write, j *jobRow) error {
	var last time.Time
	err := w.tx.QueryRow(ctx, `
		SELECT min(expires_at), max(expires_at) FROM question WHERE job_id = $1 AND state = 'open'`, j.ID).Scan(&j.dueAt, &last)
	if err != nil {
		return fmt.Errorf("read expiries: %w", err)
	}
	j.DeadlineAt = last.Add(*j.workLeft)
	return nil
}
