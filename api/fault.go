package api

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/provisiond/provisiond/jobs"
	"github.com/provisiond/provisiond/jobs/catalog"
)

// The codes of what is refused before it comes to the core; openapi.yaml lists them with the others.
const (
	codeMethodNotAllowed     jobs.Code = "method_not_allowed"
	codeBodyTooLarge         jobs.Code = "body_too_large"
	codeUnsupportedMediaType jobs.Code = "unsupported_media_type"
	codeInternal             jobs.Code = "internal"
)

// fault is a refusal of this package: the request did not reach the core. Detail and fields name the
// rule, never what was submitted.
type fault struct {
	status int
	code   jobs.Code
	detail string
	fields []catalog.FieldError
}

// Error implements error.
func (f *fault) Error() string { return fmt.Sprintf("%s: %s", f.code, f.detail) }

// maxFields bounds what an answer says about a bad request, so that it cannot be made huge.
const maxFields = 50

// invalid makes a fault of the fields' faults: 400 for the form of the request, 422 for its content.
func invalid(status int, fields []catalog.FieldError) *fault {
	slices.SortFunc(fields, func(a, b catalog.FieldError) int {
		return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Detail, b.Detail))
	})
	fields = slices.Compact(fields)
	detail := fmt.Sprintf("The request has %d errors.", len(fields))
	if len(fields) == 1 {
		detail = "The request has 1 error."
	}
	return &fault{status: status, code: jobs.InvalidRequest, detail: detail, fields: fields[:min(len(fields), maxFields)]}
}

// malformed is a fault of the body's form at one place.
func malformed(pointer, detail string) *fault {
	return invalid(http.StatusBadRequest, []catalog.FieldError{{Pointer: pointer, Detail: detail}})
}
