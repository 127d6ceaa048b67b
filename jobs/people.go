package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// JobOfQuestion finds the job that asks a question. Error: NotFound.
func (s *Service) JobOfQuestion(ctx context.Context, c Caller, questionID string) (Job, error) {
	j, err := scanJob(s.pool.QueryRow(ctx, jobSelect+`
		WHERE j.tenant_id = $1 AND j.id = (SELECT q.job_id FROM question q WHERE q.id = $2 AND q.tenant_id = $1)`,
		c.TenantID, questionID))
	if errors.Is(err, pgx.ErrNoRows) {
		return Job{}, &Error{Code: NotFound, Detail: "There is no such question."}
	}
	if err != nil {
		return Job{}, fmt.Errorf("find job of question: %w", err)
	}
	return j, nil
}

// WasDeclined reports whether the answer to a question of the job was a no, which canceled the job.
func (s *Service) WasDeclined(ctx context.Context, c Caller, jobID, questionID string) (bool, error) {
	var declined bool
	err := s.pool.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM event WHERE tenant_id = $1 AND job_id = $2 AND type = 'question.declined' AND data->>'question_id' = $3)`,
		c.TenantID, jobID, questionID).Scan(&declined)
	return declined, wrap("look for declined question", err)
}

// Origin is where a job comes from, in the words of those who named things. A name may be empty, and
// so may the kind of who has no API key.
type Origin struct {
	StartedBy    string
	KeyKind      KeyKind
	KeyName      string
	InstanceName string
}

// OriginOf tells who started a job, and for which instance. Error: NotFound.
func (s *Service) OriginOf(ctx context.Context, c Caller, jobID string) (Origin, error) {
	var o Origin
	err := s.pool.QueryRow(ctx, `
		SELECT j.created_by, coalesce(k.kind, ''), coalesce(k.name, ''), coalesce(i.name, '')
		FROM job j JOIN instance i ON i.id = j.instance_id LEFT JOIN api_key k ON k.id = j.created_by
		WHERE j.tenant_id = $1 AND j.id = $2`, c.TenantID, jobID).Scan(&o.StartedBy, &o.KeyKind, &o.KeyName, &o.InstanceName)
	if errors.Is(err, pgx.ErrNoRows) {
		return Origin{}, &Error{Code: NotFound, Detail: "there is no such job"}
	}
	return o, wrap("find origin of job", err)
}

// NamedEvent is an event with the kind and name of its actor, where that is a key.
type NamedEvent struct {
	Event

	KeyKind KeyKind
	KeyName string
}

// LatestEvents reads the last n events of a job's history, the newest first. A job of another tenant
// has none.
func (s *Service) LatestEvents(ctx context.Context, c Caller, jobID string, n int) ([]NamedEvent, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT e.id, e.type, e.job_id, coalesce(e.instance_id, ''), e.actor, e.at, e.data, coalesce(k.kind, ''), coalesce(k.name, '')
		FROM event e LEFT JOIN api_key k ON k.id = e.actor
		WHERE e.tenant_id = $1 AND e.job_id = $2 ORDER BY e.seq DESC LIMIT $3`, c.TenantID, jobID, n)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	events, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e NamedEvent, err error) {
		err = row.Scan(&e.ID, &e.Type, &e.JobID, &e.InstanceID, &e.Actor, &e.At, &e.Data, &e.KeyKind, &e.KeyName)
		return e, err
	})
	return events, wrap("read history", err)
}

// Question finds one of the job's questions.
func (j *Job) Question(id string) (*Question, bool) {
	i := slices.IndexFunc(j.Questions, func(q Question) bool { return q.ID == id })
	if i < 0 {
		return nil, false
	}
	return &j.Questions[i], true
}
