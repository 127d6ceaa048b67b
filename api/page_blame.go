package api

import (
	"cmp"
	"slices"
	"strings"

	"github.com/provisiond/provisiond/api/pages"
	"github.com/provisiond/provisiond/jobs/catalog"
)

// blame puts the first fault of each field beside it, and returns all faults for the summary: in the
// order of the fields, then what is about none of them.
func (f *form) blame(faults []catalog.FieldError) []pages.Fault {
	faults = slices.Clone(faults)
	slices.SortStableFunc(faults, func(a, b catalog.FieldError) int { return cmp.Compare(f.index(a.Pointer), f.index(b.Pointer)) })
	summary := make([]pages.Fault, len(faults))
	for i, fault := range faults {
		at := f.index(fault.Pointer)
		if at == len(f.fields) {
			summary[i].Text = sentence("The answer " + fault.Detail)
			continue
		}
		view := &f.fields[at].view
		summary[i] = pages.Fault{FieldID: view.ControlID(), Text: sentence(view.Label + " " + fault.Detail)}
		view.Fault = cmp.Or(view.Fault, summary[i].Text)
	}
	return summary
}

// index finds the field that a pointer of the core's leads to or into; the number of fields for none.
func (f *form) index(pointer string) int {
	for i, field := range f.fields {
		at := "/content" + catalog.Pointer(field.name)
		if pointer == at || strings.HasPrefix(pointer, at+"/") {
			return i
		}
	}
	return len(f.fields)
}

// sentence ends a text with one full stop.
func sentence(text string) string { return strings.TrimRight(text, ".") + "." }
