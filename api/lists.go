package api

import (
	"strings"

	"github.com/provisiond/provisiond/jobs"
	"github.com/provisiond/provisiond/jobs/catalog"
)

// pageRequest reads what all lists take; openapi.yaml has checked the form.
func pageRequest(limit *Limit, cursor *Cursor) jobs.PageRequest {
	return jobs.PageRequest{Limit: deref(limit), Cursor: deref(cursor)}
}

// labelsOf reads label filters, each "key=value". Error: a fault where one key is asked for twice,
// since no thing can have both values.
func labelsOf(filters *Label) (map[string]string, error) {
	labels := map[string]string{}
	for _, f := range deref(filters) {
		key, value, _ := strings.Cut(f, "=")
		if before, twice := labels[key]; twice && before != value {
			return nil, malformed("query/label", "must not ask for two values of one key")
		}
		labels[key] = value
	}
	return labels, nil
}

// fieldErrors shows the core's field errors.
func fieldErrors(fields []catalog.FieldError) *[]FieldError {
	out := make([]FieldError, len(fields))
	for i, f := range fields {
		out[i] = FieldError{Pointer: f.Pointer, Detail: f.Detail}
	}
	return &out
}

// optional is nil for the zero value: the JSON field or header is left out then.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// deref is the zero value for nil.
func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
