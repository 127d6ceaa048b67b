package mcpfacade

import (
	"fmt"
	"slices"
	"strings"

	"github.com/provisiond/provisiond/client"
)

// afterJob says what to do with a job. It holds no text of a provider or a user: those stay data, in
// the job itself.
func afterJob(job *client.Job) string {
	switch job.State {
	case client.JobStatePending:
		return fmt.Sprintf("The job is not done. Call get_job with job_id %s and wait_seconds %d.", job.ID, longestWaitSeconds)
	case client.JobStateAwaitingInput:
		return afterQuestions(job)
	case client.JobStateSucceeded:
		return afterSuccess(job)
	case client.JobStateFailed:
		return afterFailure(job)
	default:
		return afterCancel(job) + leftovers(job)
	}
}

const longestWaitSeconds = int(longestWait / 1e9)

func afterQuestions(job *client.Job) string {
	var steps []string
	for _, q := range job.Questions {
		if q.State != client.Open {
			continue
		}
		if !forTool(&q) {
			steps = append(steps, fmt.Sprintf("Question %s is for a person and not for a tool: give the user the link %s", q.ID, q.AnswerURL))
			continue
		}
		steps = append(steps, fmt.Sprintf("Ask the user question %s, then call answer_question with job_id %s, question_id %s, "+
			"action accept and content as its schema says (or action decline)", q.ID, job.ID, q.ID))
	}
	last := fmt.Sprintf(". Then call get_job with job_id %s and wait_seconds %d", job.ID, longestWaitSeconds)
	if onlyForPeople(job) {
		last += " and elicit false: it returns when the user has answered"
	}
	return "The job waits for an answer. " + strings.Join(steps, ". ") + last + "."
}

func afterSuccess(job *client.Job) string {
	switch {
	case job.Operation == client.Deprovision:
		return "Done: the instance and its data are gone. Nothing is left to do."
	case job.Operation == client.Unbind:
		return "Done: the credentials are gone. Nothing is left to do."
	case job.Operation == client.Update:
		return fmt.Sprintf("Done. Call get_instance with instance_id %s to see it as it is now.", job.InstanceID)
	case job.Operation == client.Check:
		return fmt.Sprintf("Done. Call get_instance with instance_id %s: findings lists what is not as it should be.", job.InstanceID)
	case job.Operation == client.Rotate && job.BindingID != nil:
		return fmt.Sprintf("Done. The new credentials are those of binding_id %s: call get_credentials, and replace the old ones with them "+
			"before the overlap ends.", *job.BindingID)
	case job.BindingID != nil:
		return fmt.Sprintf("Done. Call get_credentials with binding_id %s when the credentials are needed.", *job.BindingID)
	default:
		return fmt.Sprintf("Done. Call get_instance with instance_id %s to see where it is reached.", job.InstanceID)
	}
}

func afterCancel(job *client.Job) string {
	switch job.Operation {
	case client.Update:
		return fmt.Sprintf("The update was canceled. If it had begun, something may have changed already: check_instance with instance_id %s tells.", job.InstanceID)
	case client.Deprovision:
		return fmt.Sprintf("The deletion was canceled. Call get_instance with instance_id %s to see whether it had begun.", job.InstanceID)
	default:
		return "The job was canceled. Nothing is left to do."
	}
}

func afterFailure(job *client.Job) string {
	step := "The job failed; tell the user its error. "
	if job.Error != nil && job.Error.Retryable {
		step = "The job failed; the same may work later. Tell the user its error. "
	}
	switch job.Operation {
	case client.Provision, client.Deprovision:
		if job.Error != nil && job.Error.Code == "input_required" {
			step = "The job asked what answers did not say. Ask the user what questions lists, then call start_provision again with answers, " +
				"or without on_question where they are secret or for a person. "
		}
		step += fmt.Sprintf("Call deprovision_instance with instance_id %s to clean up, if the user agrees.", job.InstanceID)
	case client.Update:
		step += fmt.Sprintf("Call get_instance with instance_id %s: usable and update_repeatable say what the update has left.", job.InstanceID)
	default:
		step += "The instance goes on as before."
	}
	return step + leftovers(job)
}

func leftovers(job *client.Job) string {
	if len(job.Leftovers) == 0 {
		return ""
	}
	return " Tell the user that leftovers lists what could not be removed; an operator sees it too."
}

func afterInstance(i *client.Instance) string {
	switch i.State {
	case client.InstanceStateProvisioning, client.InstanceStateDeprovisioning:
		return fmt.Sprintf("A job is at work on it. Call get_job with job_id %s and wait_seconds %d.", i.JobID, longestWaitSeconds)
	case client.InstanceStateActive:
		return afterActive(i)
	case client.InstanceStateFailed:
		return fmt.Sprintf("It failed. Call get_job with job_id %s for the reason, or deprovision_instance to clean up, if the user agrees.", i.JobID)
	default:
		return "It is gone. Nothing is left to do."
	}
}

// afterActive tells first what is not as it should be.
func afterActive(i *client.Instance) string {
	var steps []string
	if !i.Usable {
		steps = append(steps, "A failed update has left it broken: tell the user. Another update_instance may mend it.")
	}
	if !i.UpdateRepeatable {
		steps = append(steps, "Do not repeat its last update as it was.")
	}
	if len(i.Findings) > 0 {
		steps = append(steps, "Tell the user what findings lists: it is not as it should be. rotate_credentials makes new ones in the place of broken credentials.")
	}
	if i.Usable && len(i.Findings) == 0 {
		steps = append(steps, fmt.Sprintf("It is ready. Call get_credentials with instance_id %s when the credentials are needed.", i.ID))
	}
	if i.ExpiresAt != nil {
		steps = append(steps, "It is deleted at expires_at; update_instance with expires_in puts that off.")
	}
	return strings.Join(steps, " ")
}

// afterPreflight is about a call of the tool with validate_only.
func afterPreflight(p *client.Preflight, tool string) string {
	if !p.Valid {
		return "Nothing was done. See to what blockers names, each with who can clear it away; then call " + tool + " again." + unansweredByTool(p)
	}
	if tool == "deprovision_instance" {
		step := "Nothing was done. Tell the user what would be gone, with all its data, and ask; then call " + tool + " without validate_only."
		if len(p.Questions) > 0 {
			step += " The job will give a link to the page where a person confirms it."
		}
		return step
	}
	return "Nothing was done. Tell the user the price, if there is one, and what questions lists; then call " +
		tool + " without validate_only, with the answers that are neither secret nor a person's."
}

// unansweredByTool is the way around on_question fail where a question is for a person. There is no job
// yet, and so no page to send the person to.
func unansweredByTool(p *client.Preflight) string {
	var names []string
	for _, q := range p.Questions {
		if q.Secret || q.AnswerableBy == client.AnswerableByPerson {
			names = append(names, q.Name)
		}
	}
	if len(names) == 0 || !slices.ContainsFunc(p.Blockers, func(b client.Blocker) bool { return b.Code == "input_required" }) {
		return ""
	}
	return fmt.Sprintf(" Never give %s in answers: leave on_question out, and the job will give a link to the page where the user answers; "+
		"or the user starts it with the REST API.", strings.Join(names, ", "))
}

// afterList tells of the next page; what else there is to do follows.
func afterList(next *client.NextCursor, otherwise string) string {
	if next == nil {
		return "This is all. " + otherwise
	}
	return "There is more: call the tool again with the same arguments and cursor " + *next + ". " + otherwise
}

// afterProblem says what to do about a refusal of the API.
func afterProblem(p *client.ProblemError) string {
	if p.Code == "person_required" && p.AnswerURL == nil {
		return "Only a person may decide this. Leave it out, or let the user call the REST API with a key of their own."
	}
	if step, ok := afterCode[p.Code]; ok {
		return step
	}
	if p.Retryable || p.RetryAfter > 0 || p.Status == 429 || p.Status >= 502 {
		return "Call the same tool with the same arguments again later, not before retry_after_seconds."
	}
	return "Tell the user the code, the detail and the request_id."
}

const (
	seeJob      = "Call get_job to see how the job stands now."
	seeServices = "Call list_services to see the services and plans."
	mend        = "Correct the arguments that errors names and call the tool again."
)

// afterCode says what to do about the codes that are the same for all tools.
var afterCode = map[string]string{
	"unauthenticated":           "Tell the user that the API key is wrong, expired or revoked; an operator can make a new one.",
	"insufficient_scope":        "This key may not do this. Tell the user; an operator can make a key with the scope that detail names.",
	"person_required":           "Only a person may answer this. Give the user the answer_url, then call get_job with wait_seconds and elicit false.",
	"not_found":                 "Check the ID. list_services, list_jobs, list_instances and list_bindings show what there is.",
	"name_taken":                "The name is taken. Call get_instance with instance_id to see what has it (list_bindings where binding_id is given), or choose another name.",
	"operation_in_progress":     "Another job works on the instance. Call get_job with job_id and wait_seconds, then call this again.",
	"question_already_answered": seeJob,
	"question_expired":          seeJob,
	"question_withdrawn":        seeJob,
	"job_finished":              seeJob + " deprovision_instance or delete_binding removes what it has made.",
	"quote_changed":             "The price has changed. Call get_job, tell the user the new price and ask again.",
	"binding_deleted":           "There are no credentials, and waiting does not help. Call get_instance or list_bindings to see what there is; create_binding makes new ones.",
	"binding_rotated":           "It was rotated before. Use the binding that took its place, which detail names.",
	"instance_not_active":       "Only an active instance can be changed or checked. Call get_instance to see how it stands.",
	"precondition_failed":       "The instance has changed since you saw it. Call get_instance, see whether this still fits, and call it again with the new etag as if_match.",
	"deletion_protected":        "It is protected. Only if the user wants it gone for good, call update_instance with deletion_protection false, then this again.",
	"plan_removed":              "Its plan is offered no more: it can be used and deleted, but not changed. Tell the user.",
	"plan_change_not_allowed":   "Call list_services: updates_to of the instance's plan lists the plans that it may change to.",
	"update_not_repeatable":     "Do not repeat this update. Tell the user; an operator can look into it.",
	"input_required":            "Ask the user and give answers for what errors names, or leave on_question out to have it asked.",
	"not_ready":                 "It is not ready yet. Call get_job with job_id (list_bindings has it) and wait_seconds, then call this again.",
	"idempotency_key_reused":    "This idempotency_key was used with other arguments. Use a new one for a new call.",
	"invalid_cursor":            "Call the tool again without cursor.",
	"unknown_service":           seeServices,
	"unknown_plan":              seeServices,
	"invalid_request":           mend,
	"body_too_large":            mend,
}
