package client

import (
	"context"
	"errors"
	"net/http"
)

// Accepted means that the server has taken an operation on and works on it. Nothing is done yet:
// hand JobID to [SDK.WaitDone], which returns a [Finished].
type Accepted struct {
	JobID      JobID
	InstanceID InstanceID
	// Job is the job as it was when the call was answered.
	Job Job
	// Existing is true where the job is that of an equal call before, such as a start with the name of
	// a live instance, or a deprovision that had begun.
	Existing bool
}

// Start begins to provision an instance. Its errors are a [*ProblemError] where the server refuses,
// or the transport's.
func (s *SDK) Start(ctx context.Context, req StartRequest, editors ...RequestEditorFn) (*Accepted, error) {
	if req.ValidateOnly != nil && *req.ValidateOnly {
		return nil, errors.New("validate_only starts nothing: call Preflight")
	}
	resp, err := s.CreateInstanceWithResponse(ctx, nil, req, editors...)
	if err != nil {
		return nil, err
	}
	if resp.JSON200 != nil {
		job, err := resp.JSON200.AsJob()
		if err != nil {
			return nil, err
		}
		return accepted(job, true), nil
	}
	return acceptedOr(resp.HTTPResponse, resp.Body, resp.JSON202)
}

// Preflight says what a start with req would ask and what is wrong with it. It makes nothing.
func (s *SDK) Preflight(ctx context.Context, req StartRequest) (*Preflight, error) {
	only := true
	req.ValidateOnly = &only
	resp, err := s.CreateInstanceWithResponse(ctx, nil, req)
	if err != nil {
		return nil, err
	}
	if resp.JSON200 == nil {
		return nil, NewProblemError(resp.HTTPResponse, resp.Body)
	}
	preflight, err := resp.JSON200.AsPreflight()
	return &preflight, err
}

// Deprovision begins to delete an instance and its data.
func (s *SDK) Deprovision(ctx context.Context, id InstanceID, editors ...RequestEditorFn) (*Accepted, error) {
	resp, err := s.DeleteInstanceWithResponse(ctx, id, nil, editors...)
	if err != nil {
		return nil, err
	}
	if resp.JSON200 != nil {
		job, err := resp.JSON200.AsJob()
		if err != nil {
			return nil, err
		}
		return accepted(job, true), nil
	}
	return acceptedOr(resp.HTTPResponse, resp.Body, resp.JSON202)
}

// PreflightDeprovision says what a deprovision would ask and what stands in its way. It deletes nothing.
func (s *SDK) PreflightDeprovision(ctx context.Context, id InstanceID) (*Preflight, error) {
	only := true
	resp, err := s.DeleteInstanceWithResponse(ctx, id, &DeleteInstanceParams{ValidateOnly: &only})
	if err != nil {
		return nil, err
	}
	if resp.JSON200 == nil {
		return nil, NewProblemError(resp.HTTPResponse, resp.Body)
	}
	preflight, err := resp.JSON200.AsPreflight()
	return &preflight, err
}

// Cancel asks to stop a job. The job is canceled when [SDK.WaitDone] says so.
func (s *SDK) Cancel(ctx context.Context, id JobID, editors ...RequestEditorFn) (*Accepted, error) {
	resp, err := s.CancelJobWithResponse(ctx, id, nil, editors...)
	if err != nil {
		return nil, err
	}
	return acceptedOr(resp.HTTPResponse, resp.Body, resp.JSON202)
}

// Answer answers a question of a job and returns the job after it.
func (s *SDK) Answer(ctx context.Context, job JobID, question QuestionID, answer AnswerRequest, editors ...RequestEditorFn) (*Job, error) {
	resp, err := s.AnswerQuestionWithResponse(ctx, job, question, nil, answer, editors...)
	if err != nil {
		return nil, err
	}
	if resp.JSON200 == nil {
		return nil, NewProblemError(resp.HTTPResponse, resp.Body)
	}
	return resp.JSON200, nil
}

// Credentials reads the credentials of a binding. The key needs the scope credentials:read.
func (s *SDK) Credentials(ctx context.Context, id BindingID) (*Credentials, error) {
	resp, err := s.GetCredentialsWithResponse(ctx, id)
	if err != nil {
		return nil, err
	}
	if resp.JSON200 == nil {
		return nil, NewProblemError(resp.HTTPResponse, resp.Body)
	}
	return resp.JSON200, nil
}

func accepted(job Job, existing bool) *Accepted {
	return &Accepted{JobID: job.ID, InstanceID: job.InstanceID, Job: job, Existing: existing}
}

// foundOrAccepted is the answer of a call whose job may have been there before.
func foundOrAccepted(resp *http.Response, body []byte, found, started *Job) (*Accepted, error) {
	if found != nil {
		return accepted(*found, true), nil
	}
	return acceptedOr(resp, body, started)
}

func acceptedOr(resp *http.Response, body []byte, job *Job) (*Accepted, error) {
	if job == nil {
		return nil, NewProblemError(resp, body)
	}
	return accepted(*job, false), nil
}
