package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// CodeUnexpected is the code of an answer that is not provisiond's, such as a proxy's error page.
const CodeUnexpected = "unexpected_response"

// Error implements error, so that errors.As finds the [*Problem] in what an [SDK] returns.
func (p *Problem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", p.Status, p.Code)
	if p.Detail != nil {
		fmt.Fprintf(&b, ": %s", *p.Detail)
	}
	if p.Errors != nil {
		for _, field := range *p.Errors {
			fmt.Fprintf(&b, "; %s: %s", field.Pointer, field.Detail)
		}
	}
	if p.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", p.RequestID)
	}
	return b.String()
}

// ProblemError is an answer that refuses the call. errors.As also finds the [*Problem] inside.
type ProblemError struct {
	*Problem
	// RetryAfter is how long the server asks to wait before a repeat; 0 where it does not say.
	RetryAfter time.Duration
	// Challenge is the WWW-Authenticate header: what credentials are missing, and where to get them.
	Challenge string
}

// Unwrap gives the problem to errors.As.
func (e *ProblemError) Unwrap() error { return e.Problem }

// NewProblemError reads the answer of a call that was refused. It fills in what a body that is not a
// problem document leaves out.
func NewProblemError(resp *http.Response, body []byte) *ProblemError {
	var problem Problem
	if json.Unmarshal(body, &problem) != nil || problem.Code == "" {
		problem = Problem{Type: "about:blank", Title: http.StatusText(resp.StatusCode), Code: CodeUnexpected}
	}
	problem.Status = resp.StatusCode
	return &ProblemError{
		Problem: &problem, RetryAfter: retryAfter(resp.Header, time.Now()), Challenge: resp.Header.Get("WWW-Authenticate"),
	}
}
