package mcpfacade

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/provisiond/provisiond/client"
)

// aboutJob is the answer of the tools whose result is a job.
func aboutJob(body json.RawMessage, job *client.Job, err error) (*answer, error) {
	if err != nil {
		return nil, err
	}
	return &answer{body: body, nextStep: afterJob(job), job: job}, nil
}

// getJob polls: the check comes first and the sleep last. It returns when there is nothing to wait for
// or the wait is over.
func getJob(c *call) (*answer, error) {
	asked := min(max(c.args.number("wait_seconds", 0), 0), longestWaitSeconds)
	wait := min(time.Duration(asked)*time.Second, c.maxWait)
	deadline := time.Now().Add(wait)
	var known *client.Job
	var body json.RawMessage
	for {
		content, job, err := c.poll(known, time.Until(deadline))
		if err != nil {
			return nil, err
		}
		if content != nil {
			body = content
		}
		left := time.Until(deadline)
		if left <= 0 || !c.worthWaiting(job, known) {
			return &answer{body: body, nextStep: afterJob(job), job: job, mayAsk: c.mayElicit()}, nil
		}
		known = job
		// The API has waited for less than it was asked: its limit is lower, or it drains.
		if err := pause(c.ctx, min(pollAfter(job), left)); err != nil {
			return nil, err
		}
	}
}

// poll asks the API once. Of a job that awaits input it waits for another version than the known one; the
// body is nil where there is none.
func (c *call) poll(known *client.Job, wait time.Duration) (json.RawMessage, *client.Job, error) {
	seconds := int(max(wait, 0).Round(time.Second) / time.Second)
	params := &client.GetJobParams{Wait: &seconds}
	if known != nil && known.State == client.JobStateAwaitingInput {
		etag := strconv.Quote(strconv.FormatInt(known.Version, 10))
		params.IfNoneMatch = &etag
	}
	resp, err := c.api.GetJob(c.ctx, c.args.text("job_id"), params, c.forward)
	if err == nil && params.IfNoneMatch != nil && resp.StatusCode == http.StatusNotModified {
		_ = resp.Body.Close() // It is empty.
		return nil, known, nil
	}
	return decode[client.Job](resp, err)
}

// worthWaiting tells whether the caller can only wait: the job is at work, or people have been sent to its
// pages, which is what a caller says that wants no forms. News of the questions end the wait, since a
// person has to be sent to a new one.
func (c *call) worthWaiting(job, known *client.Job) bool {
	if job.State == client.JobStateAwaitingInput && !c.mayElicit() && onlyForPeople(job) {
		return known == nil || known.Version == job.Version
	}
	return job.State == client.JobStatePending
}

// mayElicit is false where the caller wants the questions as data: the way on for a host that declares
// elicitation and then drops the form.
func (c *call) mayElicit() bool {
	return string(c.args["elicit"]) != "false"
}

// pollAfter is the job's own hint, with a floor against a busy loop.
func pollAfter(job *client.Job) time.Duration {
	return max(time.Duration(job.PollAfterMs)*time.Millisecond, 100*time.Millisecond)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func answerQuestion(c *call) (*answer, error) {
	jobID, questionID := c.args.text("job_id"), c.args.text("question_id")
	if _, given := c.args["content"]; given {
		if err := c.checkNoSecret(jobID, questionID); err != nil {
			return nil, err
		}
	}
	payload, err := c.args.object("action", "content")
	if err != nil {
		return nil, err
	}
	return aboutJob(decode[client.Job](c.api.AnswerQuestionWithBody(c.ctx, jobID, questionID, nil, mediaType, payload, c.forward)))
}

func cancelJob(c *call) (*answer, error) {
	return aboutJob(decode[client.Job](c.api.CancelJob(c.ctx, c.args.text("job_id"), nil, c.forward)))
}

func listJobs(c *call) (*answer, error) {
	labels, err := c.args.labels()
	if err != nil {
		return nil, err
	}
	return c.page(func(limit *client.Limit) (json.RawMessage, *client.NextCursor, error) {
		body, list, err := decode[client.JobList](c.api.ListJobs(c.ctx, &client.ListJobsParams{
			Limit:      limit,
			Cursor:     optional[string](c.args, "cursor"),
			State:      optional[client.JobState](c.args, "state"),
			Operation:  optional[client.Operation](c.args, "operation"),
			InstanceID: optional[string](c.args, "instance_id"),
			Service:    optional[string](c.args, "service"),
			Label:      labels,
		}, c.forward))
		if err != nil {
			return nil, nil, err
		}
		return body, list.NextCursor, nil
	}, "Call get_job for what to do with one job.")
}
