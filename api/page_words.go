package api

import (
	"fmt"
	"strings"
	"time"

	"github.com/provisiond/provisiond/api/pages"
	"github.com/provisiond/provisiond/jobs"
)

func operationInWords(o jobs.Operation) string {
	switch o {
	case jobs.OpProvision:
		return "Set up"
	case jobs.OpUpdate:
		return "Change"
	case jobs.OpDeprovision:
		return "Remove"
	case jobs.OpBind:
		return "Make credentials for"
	case jobs.OpRotate:
		return "Renew credentials for"
	case jobs.OpUnbind:
		return "Remove credentials for"
	case jobs.OpCheck:
		return "Check"
	default:
		return string(o)
	}
}

// stateInWords tells the job's state and, while it works, its phase.
func stateInWords(j *jobs.Job) string {
	switch j.State {
	case jobs.AwaitingInput:
		return "Waits for an answer"
	case jobs.Succeeded:
		return "Done"
	case jobs.Failed:
		return "Failed"
	case jobs.Canceled:
		return "Canceled"
	default:
		return phaseInWords(j.Phase)
	}
}

func phaseInWords(p jobs.Phase) string {
	switch p {
	case jobs.Queued:
		return "Queued"
	case jobs.WaitingOnProvider:
		return "Waits for the provider"
	case jobs.CleaningUp:
		return "Cleans up"
	case jobs.Canceling:
		return "Is being canceled"
	default:
		return "Works"
	}
}

func failureInWords(j *jobs.Job) string {
	if j.Error == nil {
		return ""
	}
	what := "call"
	if j.Operation == jobs.OpProvision {
		what = "start"
	}
	again := "The same " + what + " would fail again."
	if j.Error.Retryable {
		again = "The same " + what + " may work later."
	}
	return fmt.Sprintf("%s (%s) %s", sentence(j.Error.Message), j.Error.Code, again)
}

// declinedInWords says what came of a declined question.
func declinedInWords(j *jobs.Job) string {
	if j.State == jobs.Pending {
		return "The job is being canceled for that, and the answer cannot be changed."
	}
	return "The job was canceled for that, and the answer cannot be changed."
}

// faultsInWords lists what is wrong with a form that is not of ours.
func faultsInWords(errs *[]FieldError) []string {
	var lines []string
	for _, e := range deref(errs) {
		lines = append(lines, sentence(strings.TrimSpace(strings.TrimPrefix(e.Pointer, "/")+" "+e.Detail)))
	}
	return lines
}

func leftoversInWords(j *jobs.Job) []string {
	var lines []string
	for _, l := range j.Leftovers {
		lines = append(lines, fmt.Sprintf("%s %s: %s", l.Kind, l.Name, l.Reason))
	}
	return lines
}

// keyInWords names who acted; by the bare ID where that is no API key.
func keyInWords(id string, kind jobs.KeyKind, name string) string {
	switch {
	case kind == "":
		return id
	case name == "":
		return fmt.Sprintf("a key of kind %s", kind)
	default:
		return fmt.Sprintf("the key “%s” of kind %s", name, kind)
	}
}

func historyInWords(events []jobs.NamedEvent, caller jobs.Caller, now time.Time) []pages.Line {
	lines := make([]pages.Line, len(events))
	for i := range events {
		e := &events[i]
		lines[i] = pages.Line{At: pages.NewMoment(e.At, now), Text: eventInWords(&e.Event), Who: actorInWords(e, caller)}
	}
	return lines
}

func actorInWords(e *jobs.NamedEvent, caller jobs.Caller) string {
	if e.Actor == caller.KeyID {
		return "you"
	}
	return keyInWords(e.Actor, e.KeyKind, e.KeyName)
}

// eventWords says what an event means. A %s is filled in from its data, by the name beside it.
var eventWords = map[string]struct{ text, field string }{
	"job.started":          {"Started.", ""},
	"job.running":          {"A worker took it.", ""},
	"job.progress":         {"%s", "message"},
	"job.released":         {"The worker gave it back.", ""},
	"job.retrying":         {"A try failed with %s; there will be another.", "code"},
	"job.lease_lapsed":     {"The worker was silent for too long; another one goes on.", ""},
	"job.cancel_requested": {"It is to be canceled.", ""},
	"job.cleaning_up":      {"What was made is being removed.", ""},
	"job.succeeded":        {"Done.", ""},
	"job.failed":           {"Failed with %s.", "code"},
	"job.canceled":         {"Canceled.", ""},
	"instance.checked":     {"Compared with what exists; differences: %v.", "findings"},
	"question.asked":       {"Asked for %s.", "name"},
	"question.answered":    {"Answered %s.", "name"},
	"question.declined":    {"Declined %s.", "name"},
	"question.expired":     {"The question %s expired.", "name"},
}

// eventInWords says what happened. A new type of event shows by its name.
func eventInWords(e *jobs.Event) string {
	words, ok := eventWords[e.Type]
	switch {
	case !ok:
		return e.Type
	case words.field == "":
		return words.text
	default:
		return fmt.Sprintf(words.text, e.Data[words.field])
	}
}
