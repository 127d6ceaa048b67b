package mcpfacade

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/provisiond/provisiond/client"
)

// The actions of a form that are an answer. The third, cancel, is none: hosts that cannot show a form
// dismiss it unseen, and a job must not end by that.
const (
	accept  = "accept"
	decline = "decline"
)

// forTool tells whether a question may be answered through a tool or a host's form. A secret must not
// pass through either, and what only a person may answer needs that person's own sign-in.
func forTool(q *client.Question) bool {
	return !q.Secret && q.AnswerableBy != client.AnswerableByPerson
}

// onlyForPeople tells that none of the questions that a job waits for may be answered through a tool.
func onlyForPeople(job *client.Job) bool {
	return !slices.ContainsFunc(job.Questions, func(q client.Question) bool { return q.State == client.Open && forTool(&q) })
}

// inputRequests are the open questions as the caller can show them, by question ID: as a form, or as
// the link to the page that asks. Those in seen have been shown.
func (c caller) inputRequests(job *client.Job, seen mcp.InputResponseMap) mcp.InputRequestMap {
	requests := mcp.InputRequestMap{}
	for _, q := range job.Questions {
		if _, ok := seen[q.ID]; ok || q.State != client.Open {
			continue
		}
		switch {
		case c.form && forTool(&q):
			requests[q.ID] = &mcp.ElicitParams{Mode: "form", Message: wording(job, &q), RequestedSchema: formSchema(&q)}
		case c.url:
			requests[q.ID] = &mcp.ElicitParams{Mode: "url", Message: wording(job, &q), URL: q.AnswerURL}
		}
	}
	return requests
}

// wording is the question with what it is about, since a form may stand alone on a person's screen.
func wording(job *client.Job, q *client.Question) string {
	text := fmt.Sprintf("%s\n\nAsked by job %s (%s %s, plan %s)", q.Message, job.ID, job.Operation, job.Service, job.Plan)
	if q.Price != nil {
		text += fmt.Sprintf(". Price: %s %s per %s", q.Price.Amount, q.Price.Currency, q.Price.Per)
	}
	return text + "."
}

// formSchema is the part of a question's schema that forms know.
func formSchema(q *client.Question) map[string]any {
	form := map[string]any{"type": "object", "properties": map[string]any{}}
	for _, keyword := range []string{"properties", "required"} {
		if value, ok := q.Schema[keyword]; ok {
			form[keyword] = value
		}
	}
	return form
}

// ask is the result that asks what the caller can be asked of an answer's job; nil where there is
// nothing to ask.
func (c *call) ask(found *answer) (*mcp.CallToolResult, error) {
	if !found.mayAsk || found.job.State != client.JobStateAwaitingInput {
		return nil, nil //nolint:nilnil // See above.
	}
	requests := c.caller.inputRequests(found.job, found.seen)
	if len(requests) == 0 {
		return nil, nil //nolint:nilnil // See above.
	}
	found.wrong.tell(requests)
	state, err := c.newState(found.job.ID)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{InputRequests: requests, RequestState: state}, nil
}

// resume goes on with the job that an earlier call asked about, with what the person said.
func (c *call) resume(state string, responses mcp.InputResponseMap) (*answer, error) {
	jobID, err := c.openState(state)
	if err != nil {
		return nil, err
	}
	_, job, err := decode[client.Job](c.api.GetJob(c.ctx, jobID, nil, c.forward))
	if err != nil {
		return nil, err
	}
	err = c.answerForms(job, responses)
	wrong, again := errors.AsType[wrongAnswers](err)
	if err != nil && !again {
		return nil, err
	}
	if c.args["job_id"], err = json.Marshal(jobID); err != nil {
		return nil, err
	}
	found, err := getJob(c)
	if err != nil {
		return nil, err
	}
	found.wrong, found.seen = wrong, maps.Clone(responses)
	maps.DeleteFunc(found.seen, func(id string, _ mcp.InputResponse) bool { return wrong[id] != nil })
	if found.job.State == client.JobStateAwaitingInput && !onlyForPeople(found.job) {
		found.nextStep += " Call it with elicit false: the user has been asked already."
	}
	return found, nil
}

// answerForms gives the API the answers to the job's questions, oldest first. Keys that are none of its
// questions are ignored, and so is an accepted link: the page has the answer. A question that is closed
// already, and an answer that breaks its question's rules, are errors only after the others are answered;
// the latter is then a wrongAnswers.
func (c *call) answerForms(job *client.Job, responses mcp.InputResponseMap) error {
	var conflict error
	wrong := wrongAnswers{}
	for _, q := range job.Questions {
		response, ok := responses[q.ID].(*mcp.ElicitResult)
		if !ok || !c.caller.form || !forTool(&q) || (response.Action != accept && response.Action != decline) {
			continue
		}
		err := c.postAnswer(job.ID, q.ID, response)
		switch {
		case breaksRules(err):
			wrong[q.ID], _ = errors.AsType[*client.ProblemError](err)
		case isConflict(err):
			conflict = err
		case err != nil:
			return err
		case response.Action == decline:
			return nil // It cancels the job, and with it the other questions.
		}
	}
	if len(wrong) > 0 {
		return wrong
	}
	return conflict
}

// postAnswer gives the API one answer that came by a form.
func (c *call) postAnswer(jobID, questionID string, response *mcp.ElicitResult) error {
	answer := map[string]any{"action": response.Action}
	if response.Action == accept {
		answer["content"] = response.Content
		if response.Content == nil {
			answer["content"] = struct{}{} // All fields left empty.
		}
	}
	payload, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	_, err = body(c.api.AnswerQuestionWithBody(c.ctx, jobID, questionID, nil, mediaType, bytes.NewReader(payload), c.forward))
	return err
}
