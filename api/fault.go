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

// Bounds of what an answer says about a bad request, so that it cannot be made huge.
const (
	maxFields     = 50
	maxNameLength = 64 // characters of a name that the client chose
)

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

// pointerTo writes a JSON Pointer (RFC 6901). Names may be the client's, so they are cut.
func pointerTo(steps []string) string {
	var b strings.Builder
	for _, step := range steps {
		b.WriteByte('/')
		b.WriteString(escapePointer(cut(step)))
	}
	return b.String()
}

func escapePointer(step string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(step)
}

// cut shortens a name that the client chose.
func cut(name string) string {
	runes := 0
	for i := range name {
		if runes++; runes > maxNameLength {
			return name[:i] + "…"
		}
	}
	return name
}
