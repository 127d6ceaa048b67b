package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/provisiond/provisiond/jobs"
)

// statuses maps the core's codes to HTTP. The table in openapi.yaml says the same.
var statuses = map[jobs.Code]int{
	jobs.InvalidCursor:           http.StatusBadRequest,
	jobs.Unauthenticated:         http.StatusUnauthorized,
	jobs.InsufficientScope:       http.StatusForbidden,
	jobs.PersonRequired:          http.StatusForbidden,
	jobs.NotFound:                http.StatusNotFound,
	jobs.OperationInProgress:     http.StatusConflict,
	jobs.NameTaken:               http.StatusConflict,
	jobs.IdempotencyInProgress:   http.StatusConflict,
	jobs.QuestionAlreadyAnswered: http.StatusConflict,
	jobs.QuestionHasExpired:      http.StatusConflict,
	jobs.QuestionWasWithdrawn:    http.StatusConflict,
	jobs.QuoteChanged:            http.StatusConflict,
	jobs.JobFinished:             http.StatusConflict,
	jobs.NotReady:                http.StatusConflict,
	jobs.BindingDeleted:          http.StatusConflict,
	jobs.BindingRotated:          http.StatusConflict,
	jobs.InstanceNotActive:       http.StatusConflict,
	jobs.DeletionProtected:       http.StatusConflict,
	jobs.PlanRemoved:             http.StatusConflict,
	jobs.UpdateNotRepeatable:     http.StatusConflict,
	jobs.PreconditionFailed:      http.StatusPreconditionFailed,
	jobs.InvalidRequest:          http.StatusUnprocessableEntity,
	jobs.UnknownService:          http.StatusUnprocessableEntity,
	jobs.UnknownPlan:             http.StatusUnprocessableEntity,
	jobs.PlanChangeNotAllowed:    http.StatusUnprocessableEntity,
	jobs.InputIsRequired:         http.StatusUnprocessableEntity,
	jobs.IdempotencyKeyReused:    http.StatusUnprocessableEntity,
	jobs.Unavailable:             http.StatusServiceUnavailable,
}

// retryables are the codes of refusals that pass by themselves.
var retryables = map[jobs.Code]bool{
	jobs.OperationInProgress:   true,
	jobs.IdempotencyInProgress: true,
	jobs.NotReady:              true,
	jobs.Unavailable:           true,
}

// statusClientGone is what the log says where the client did not wait for the answer (nginx's word).
const statusClientGone = 499

// writeProblem is the one writer of error answers: echo's error handler, and so also what a returned
// error of a handler or a middleware comes to. Where people look, it is a page.
func (s *server) writeProblem(err error, c echo.Context) {
	call := callOf(c)
	if c.Response().Committed {
		call.cause = err
		return
	}
	ctx := c.Request().Context()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		_ = c.NoContent(statusClientGone) // nobody reads it
		return
	}
	p, retryAfter := s.problem(err, call)
	p.RequestID = call.requestID
	h := c.Response().Header()
	h.Set("Cache-Control", "no-store")
	if p.Retryable {
		h.Set("Retry-After", strconv.Itoa(max(1, seconds(retryAfter))))
	}
	if isPage(c.Request().URL.Path) {
		if err := showProblem(c, &p); err != nil && call.cause == nil {
			call.cause = err
		}
		return
	}
	if code := jobs.Code(p.Code); code == jobs.Unauthenticated || code == jobs.InsufficientScope {
		h.Set("WWW-Authenticate", s.challenge(c, code))
	}
	body, err := json.Marshal(p)
	if err == nil {
		err = c.Blob(p.Status, "application/problem+json", body)
	}
	if err != nil && call.cause == nil {
		call.cause = err
	}
}

// problem says what the client may know of an error. What it may not goes into the log line.
func (s *server) problem(err error, call *call) (Problem, time.Duration) {
	var refusal *jobs.Error
	var own *fault
	var echos *echo.HTTPError
	switch {
	case errors.As(err, &own):
		p := newProblem(own.status, own.code, own.detail)
		if len(own.fields) > 0 {
			p.Errors = fieldErrors(own.fields)
		}
		return p, 0
	case errors.As(err, &refusal) && statuses[refusal.Code] != 0:
		call.cause = refusal.Cause
		return s.refusal(refusal), refusal.RetryAfter
	case errors.As(err, &echos) && echos.Code < 500:
		return echoProblem(echos), 0
	case isUnavailable(err):
		call.cause = err
		return newProblem(http.StatusServiceUnavailable, jobs.Unavailable, "The database does not answer; try again."), 0
	default:
		call.cause = err
		return newProblem(http.StatusInternalServerError, codeInternal,
			"Something went wrong here, not with the request. Quote the request_id to the operator."), 0
	}
}

func newProblem(status int, code jobs.Code, detail string) Problem {
	return Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status,
		Code: string(code), Detail: optional(detail), Retryable: retryables[code],
	}
}

// refusal is the problem of an error of the core.
func (s *server) refusal(e *jobs.Error) Problem {
	p := newProblem(statuses[e.Code], e.Code, e.Detail)
	p.JobID, p.InstanceID, p.BindingID = optional(e.JobID), optional(e.InstanceID), optional(e.BindingID)
	if len(e.Fields) > 0 {
		p.Errors = fieldErrors(e.Fields[:min(len(e.Fields), maxFields)])
	}
	if e.QuestionID != "" {
		p.AnswerURL = optional(s.answerURL(e.QuestionID))
	}
	return p
}

// echoProblem is the problem of what echo's router and the generated code refuse. Their messages
// quote the request, so they are not used.
func echoProblem(e *echo.HTTPError) Problem {
	switch e.Code {
	case http.StatusNotFound:
		return newProblem(e.Code, jobs.NotFound, "There is nothing at this path.")
	case http.StatusMethodNotAllowed:
		return newProblem(e.Code, codeMethodNotAllowed, "The path does not take this method; the Allow header lists those it takes.")
	case http.StatusRequestEntityTooLarge:
		return newProblem(e.Code, codeBodyTooLarge, bodyTooLarge)
	case http.StatusUnsupportedMediaType:
		return newProblem(e.Code, codeUnsupportedMediaType, jsonOnly)
	default:
		return newProblem(http.StatusBadRequest, jobs.InvalidRequest, "The request is not of the right form.")
	}
}
