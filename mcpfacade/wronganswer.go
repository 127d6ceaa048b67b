package mcpfacade

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/provisiond/provisiond/client"
)

// wrongAnswers are the answers that broke the rules of their questions, by question ID. The person who
// gave them is asked again, where the caller can be asked.
type wrongAnswers map[string]*client.ProblemError

// breaksRules tells that the API has refused an answer for its content.
func breaksRules(err error) bool {
	problem, ok := errors.AsType[*client.ProblemError](err)
	return ok && problem.Status == http.StatusUnprocessableEntity && problem.Errors != nil
}

// Error implements error.
func (w wrongAnswers) Error() string { return w.first().Error() }

// Unwrap gives the problem of one answer: a protocol error has room for no more.
func (w wrongAnswers) Unwrap() error { return w.first() }

// first is that of the oldest question; it is never called on none.
func (w wrongAnswers) first() *client.ProblemError { return w[slices.Sorted(maps.Keys(w))[0]] }

// tell puts before each question that is asked again what was wrong, by field and rule.
func (w wrongAnswers) tell(requests mcp.InputRequestMap) {
	for id, problem := range w {
		form, ok := requests[id].(*mcp.ElicitParams)
		if !ok {
			continue // Closed in the meantime.
		}
		var rules []string
		for _, field := range *problem.Errors {
			name := strings.TrimPrefix(strings.TrimPrefix(field.Pointer, "/content"), "/")
			rules = append(rules, strings.TrimSpace(name+" "+field.Detail))
		}
		form.Message = "The answer was not accepted: " + strings.Join(rules, "; ") + ".\n\n" + form.Message
	}
}
