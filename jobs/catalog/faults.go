package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// faults collects all that is wrong with a file, so that its author can mend it in one go.
type faults struct {
	file string
	list []fault
}

type fault struct {
	place
	path string
	rule string
}

// add notes a rule that the value breaks.
func (f *faults) add(n *node, format string, args ...any) {
	f.addAt(n.place, n.path(), format, args...)
}

func (f *faults) addAt(at place, path, format string, args ...any) {
	f.list = append(f.list, fault{place: at, path: path, rule: fmt.Sprintf(format, args...)})
}

// err returns the faults in the file's order, one a line, or nil. It scrubs the rules, because those
// of drivers and libraries may quote a value. A rule of several lines counts as several, but is
// scrubbed as a whole: a value may have several lines, too.
func (f *faults) err(scrub func(string) string) error {
	slices.SortStableFunc(f.list, func(a, b fault) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	var errs []error
	for _, fault := range f.list {
		where := fmt.Sprintf("%s:%d:%d: ", f.file, max(fault.line, 1), max(fault.column, 1))
		if fault.path != "" {
			where += fault.path + ": "
		}
		for rule := range strings.SplitSeq(strings.TrimSpace(scrub(fault.rule)), "\n") {
			errs = append(errs, errors.New(where+strings.TrimSpace(rule)))
		}
	}
	return errors.Join(errs...)
}
