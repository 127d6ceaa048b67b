package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/provider"
)

// Clearer is who can clear a blocker away.
type Clearer string

// The clearers.
const (
	ByCaller   Clearer = "caller"   // by another request
	ByPerson   Clearer = "person"   // an agent cannot
	ByWaiting  Clearer = "waiting"  // it goes away by itself
	ByOperator Clearer = "operator" // of provisiond
	ByNobody   Clearer = "nobody"
)

// Blocker is a reason for which a call would be refused.
type Blocker struct {
	Code      Code
	Pointer   string // into the request; "" where it is about no field
	Detail    string
	ClearedBy Clearer
	// JobID is the job that must end first, where that is the reason.
	JobID string
	// refusal is the error that it was made of.
	refusal *Error
}

func blocker(code Code, pointer, detail string, by Clearer) Blocker {
	return Blocker{Code: code, Pointer: pointer, Detail: detail, ClearedBy: by}
}

// blockerOf makes a blocker of an error of this package.
func blockerOf(err error, pointer string) Blocker {
	e, _ := errors.AsType[*Error](err)
	by := map[Code]Clearer{
		OperationInProgress: ByWaiting, NotReady: ByWaiting, PlanRemoved: ByOperator, InstanceNotActive: ByNobody, PersonRequired: ByPerson,
	}[e.Code]
	return Blocker{Code: e.Code, Pointer: pointer, Detail: e.Detail, ClearedBy: cmp.Or(by, ByCaller), JobID: e.JobID, refusal: e}
}

// answerer is who can answer a question. An agent must not learn a secret to give it.
func answerer(q provider.Question) Clearer {
	if q.PersonOnly || q.Secret {
		return ByPerson
	}
	return ByCaller
}

// neededAnswer says how to come by an answer that on_question "fail" needs in advance. An agent must not
// learn a secret to give it.
func neededAnswer(q provider.Question) string {
	detail := "is needed where on_question is \"fail\""
	switch {
	case q.PersonOnly:
		return detail + "; a person has to decide it: leave on_question out to have it asked on a page, or let the person start"
	case q.Secret:
		return detail + "; it is secret: leave on_question out to have a person asked on a page, or let the person start"
	default:
		return detail
	}
}

// blockedError makes one error of all blockers: the first one's code, and the rules by field.
func blockedError(blockers []Blocker) error {
	if len(blockers) == 1 && blockers[0].refusal != nil {
		return blockers[0].refusal
	}
	e := &Error{Code: blockers[0].Code, Detail: blockers[0].Detail, JobID: blockers[0].JobID}
	if len(blockers) == 1 && blockers[0].Pointer == "" {
		return e
	}
	for _, b := range blockers {
		e.Fields = append(e.Fields, catalog.FieldError{Pointer: b.Pointer, Detail: b.Detail})
	}
	slices.SortStableFunc(e.Fields, func(a, b catalog.FieldError) int { return strings.Compare(a.Pointer, b.Pointer) })
	e.Detail = fmt.Sprintf("%s: %s", e.Fields[0].Pointer, e.Fields[0].Detail)
	if n := len(e.Fields); n > 1 {
		e.Detail = fmt.Sprintf("The request has %d errors.", n)
	}
	return e
}

// escapePointer escapes one step of a JSON Pointer (RFC 6901, section 3).
func escapePointer(step string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(step)
}
