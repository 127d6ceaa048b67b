package mcpfacade

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/provisiond/provisiond/client"
)

const (
	// maxResult bounds a result, in bytes of JSON. It is sent twice, and hosts cut a result at about
	// 25,000 tokens, which is some 100 kB.
	maxResult = 40 << 10
	// maxString bounds one string within a result that is too large, in bytes.
	maxString = 2 << 10
)

// result gives the same facts as structuredContent and as text, since some hosts show a model only
// the one, some only the other.
func (f *facade) result(a *answer) *mcp.CallToolResult {
	body := a.body
	if len(body) > maxResult && !a.whole {
		var err error
		if body, err = shorten(a); err != nil {
			return f.failed(err)
		}
	}
	body, err := withFirst(body, "next_step", a.nextStep)
	if err != nil {
		return f.failed(err)
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: string(body)}},
		StructuredContent: body,
	}
}

// withFirst puts a text at the front of an object, where a reader sees it first.
func withFirst(object json.RawMessage, name, text string) (json.RawMessage, error) {
	var buf bytes.Buffer
	if err := json.Compact(&buf, object); err != nil {
		return nil, fmt.Errorf("read the API's answer: %w", err)
	}
	rest, ok := bytes.CutPrefix(buf.Bytes(), []byte("{"))
	if !ok {
		return nil, errors.New("the API's answer is not an object")
	}
	value, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	out := append([]byte(`{"`+name+`":`), value...)
	if !bytes.Equal(rest, []byte("}")) {
		out = append(out, ',')
	}
	return append(out, rest...), nil
}

// failure is what a model sees of an error: the API's problem, and what to do.
type failure struct {
	NextStep   string              `json:"next_step"`
	Code       string              `json:"code"`
	Status     int                 `json:"status,omitempty"`
	Detail     string              `json:"detail,omitempty"`
	Errors     []client.FieldError `json:"errors,omitempty"`
	JobID      string              `json:"job_id,omitempty"`
	InstanceID string              `json:"instance_id,omitempty"`
	AnswerURL  string              `json:"answer_url,omitempty"`
	RequestID  string              `json:"request_id,omitempty"`
	Retryable  bool                `json:"retryable"`
	// RetryAfter is in seconds.
	RetryAfter int `json:"retry_after_seconds,omitempty"`
}

// failed makes a result of an error. It has no structuredContent, which would have to be of the
// tool's output schema.
func (f *facade) failed(err error) *mcp.CallToolResult {
	text, marshalErr := json.Marshal(f.explain(err))
	if marshalErr != nil {
		text = []byte(`{"code":"internal"}`) // Cannot be: a struct of strings and numbers.
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}
}

func (f *facade) explain(err error) failure {
	var (
		arguments *argumentError
		secret    *secretError
		problem   *client.ProblemError
	)
	switch {
	case errors.As(err, &arguments):
		return failure{
			Code: "invalid_arguments", Errors: arguments.errors,
			NextStep: "Correct the arguments that errors names and call the tool again.",
		}
	case errors.As(err, &secret):
		return failure{Code: "secret_not_allowed", Detail: secret.Error(), AnswerURL: secret.answerURL, NextStep: secret.nextStep()}
	case errors.As(err, &problem):
		return fromProblem(problem)
	case errors.Is(err, errTooLarge):
		return failure{
			Code: "too_large", Detail: errTooLarge.Error() + ".",
			NextStep: "Tell the user that this can be read through the REST API only.",
		}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return failure{
			Code: "timeout", Detail: "The API did not answer in time.", Retryable: true,
			NextStep: "Call the same tool with the same arguments again. To see whether a start was taken, call list_jobs.",
		}
	default:
		f.log.Error("mcp: call of the API failed", "error", err)
		return failure{
			Code: "unavailable", Detail: "The API cannot be reached.", Retryable: true,
			NextStep: "Call the same tool with the same arguments again in some seconds.",
		}
	}
}

func fromProblem(p *client.ProblemError) failure {
	out := failure{
		NextStep: afterProblem(p), Code: p.Code, Status: p.Status, Detail: valueOf(p.Detail),
		JobID: valueOf(p.JobID), InstanceID: valueOf(p.InstanceID), AnswerURL: valueOf(p.AnswerURL),
		RequestID: p.RequestID, Retryable: p.Retryable, RetryAfter: int(p.RetryAfter.Seconds()),
	}
	if p.Errors != nil {
		for _, field := range *p.Errors {
			field.Pointer = ofArgument(field.Pointer)
			out.Errors = append(out.Errors, field)
		}
	}
	return out
}

// ofArgument points to a tool's argument where the API points to a header or a part of the URL.
func ofArgument(pointer string) string {
	place, name, found := strings.Cut(pointer, "/")
	if !found || place == "" { // Within the body.
		return pointer
	}
	return "/" + strings.ToLower(strings.ReplaceAll(name, "-", "_"))
}

func valueOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
