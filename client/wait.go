package client

import (
	"context"
	"errors"
	"net/http"
	"time"
)

const (
	// pollWait is the `wait` of a long poll, in seconds: below the 30 s at which many proxies cut a
	// quiet connection.
	pollWait = 20
	// leastPause is the pause after a poll whose answer has no hint.
	leastPause = time.Second
)

// WaitJob waits until the job is not pending and returns it: finished, or awaiting input. It sees to
// it that no change is missed and the server is not asked more often than its hints allow. The
// context is its only limit of time.
func (s *SDK) WaitJob(ctx context.Context, id JobID) (*Job, error) {
	p := poller{sdk: s, id: id}
	for {
		job, err := p.poll(ctx)
		if err != nil {
			return nil, err
		}
		if job.State != JobStatePending {
			return job, nil
		}
		if err := p.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// poller polls one job: the check comes first and the sleep last.
type poller struct {
	sdk  *SDK
	id   JobID
	etag string
	job  *Job
	// next is when the server wants to be asked again, at the earliest.
	next time.Time
}

// poll is one long poll. An answer that the job has not changed gives the job of the poll before.
func (p *poller) poll(ctx context.Context) (*Job, error) {
	began := time.Now()
	wait := pollWait
	params := GetJobParams{Wait: &wait}
	if p.etag != "" {
		params.IfNoneMatch = &p.etag
	}
	resp, err := p.sdk.GetJobWithResponse(ctx, p.id, &params)
	if err != nil {
		return nil, err
	}
	switch {
	case resp.JSON200 != nil:
		p.job, p.etag = resp.JSON200, resp.HTTPResponse.Header.Get("ETag")
	case resp.StatusCode() != http.StatusNotModified || p.job == nil:
		return nil, NewProblemError(resp.HTTPResponse, resp.Body)
	}
	p.next = began.Add(p.hint(resp))
	return p.job, nil
}

// hint is the server's: the body's milliseconds where there is a body, else the header's seconds.
func (p *poller) hint(resp *GetJobResponse) time.Duration {
	fromBody := time.Duration(p.job.PollAfterMs) * time.Millisecond
	fromHeader := retryAfter(resp.HTTPResponse.Header, time.Now())
	switch {
	case resp.JSON200 != nil && fromBody > 0:
		return fromBody
	case fromHeader > 0:
		return fromHeader
	default:
		return max(fromBody, leastPause)
	}
}

// pause waits until the next poll is due. The time that the server held the last one counts, so
// after a long poll that ran its full time there is no gap in which a change goes unseen.
func (p *poller) pause(ctx context.Context) error {
	if d := time.Until(p.next); d > 0 {
		return p.sdk.retry.sleep(ctx, d)
	}
	return ctx.Err()
}

// Finished is a job that has succeeded.
type Finished struct {
	Job Job
}

// JobFailedError is a job that has failed or was canceled.
type JobFailedError struct {
	Job Job
}

// Error implements error.
func (e *JobFailedError) Error() string {
	text := "job " + e.Job.ID + " " + string(e.Job.State)
	if e.Job.Error != nil {
		text += ": " + e.Job.Error.Code + ": " + e.Job.Error.Message
	}
	return text
}

// Ask is called once for each question that a job asks and returns the answer, or nil to leave the
// question to somebody else, such as a person at its AnswerURL. An error ends the waiting, not the
// job.
type Ask func(ctx context.Context, q Question) (*AnswerRequest, error)

// ErrInputRequired is returned by [SDK.WaitDone] without an [Ask] when the job asks something.
var ErrInputRequired = errors.New("the job awaits input")

// WaitDone waits until the job is finished and answers its questions by ask on the way. A job that
// does not succeed gives a [*JobFailedError].
func (s *SDK) WaitDone(ctx context.Context, id JobID, ask Ask) (*Finished, error) {
	p := poller{sdk: s, id: id}
	asked := make(map[QuestionID]bool)
	for {
		job, err := p.poll(ctx)
		if err != nil {
			return nil, err
		}
		switch job.State {
		case JobStateSucceeded:
			return &Finished{Job: *job}, nil
		case JobStateFailed, JobStateCanceled:
			return nil, &JobFailedError{Job: *job}
		case JobStateAwaitingInput:
			answered, err := s.answerOpen(ctx, job, ask, asked)
			if err != nil {
				return nil, err
			}
			if answered {
				continue // The job goes on at once.
			}
		case JobStatePending:
		}
		if err := p.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// answerOpen asks what was not asked before. It tells whether it answered anything.
func (s *SDK) answerOpen(ctx context.Context, job *Job, ask Ask, asked map[QuestionID]bool) (bool, error) {
	if ask == nil {
		return false, ErrInputRequired
	}
	answered := false
	for _, q := range job.Questions {
		if q.State != Open || asked[q.ID] {
			continue
		}
		asked[q.ID] = true
		answer, err := ask(ctx, q)
		if err != nil {
			return answered, err
		}
		if answer == nil {
			continue
		}
		if _, err := s.Answer(ctx, job.ID, q.ID, *answer); err != nil && !settledElsewhere(err) {
			return answered, err
		}
		answered = true
	}
	return answered, nil
}

// settledElsewhere: another was faster. The job's state tells how it goes on.
func settledElsewhere(err error) bool {
	var problem *Problem
	if !errors.As(err, &problem) {
		return false
	}
	switch problem.Code {
	case "question_already_answered", "question_expired", "question_withdrawn":
		return true
	}
	return false
}
