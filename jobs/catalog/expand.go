package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// minSecret is the length in bytes from which an environment variable's value is scrubbed from
// errors. A shorter one would blank out words that have nothing to do with it.
const minSecret = 4

var (
	variable     = regexp.MustCompile(`\$\$|\$\{[^}]*\}?`)
	variableForm = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}$`)
)

// An expander puts environment variables into strings and remembers their values, which may be
// secrets.
type expander struct {
	env     func(string) (string, bool)
	secrets map[string]bool
}

// expand replaces ${NAME} and ${NAME:-default}, where the default also stands for an empty value, and
// $$ by a dollar. Any other dollar is itself.
func (e *expander) expand(s string) (string, error) {
	if !strings.Contains(s, "$") {
		return s, nil
	}
	var errs []error
	s = variable.ReplaceAllStringFunc(s, func(match string) string {
		if match == "$$" {
			return "$"
		}
		value, err := e.lookUp(match)
		if err != nil {
			errs = append(errs, err)
		}
		return value
	})
	return s, errors.Join(errs...)
}

func (e *expander) lookUp(match string) (string, error) {
	form := variableForm.FindStringSubmatch(match)
	if form == nil {
		return "", errors.New("must name a variable as ${NAME} or ${NAME:-default}; write $$ for a dollar")
	}
	value, set := e.env(form[1])
	hasDefault := form[2] != ""
	if hasDefault && value == "" {
		return form[3], nil
	}
	if !set {
		return "", fmt.Errorf("environment variable %s is not set", form[1])
	}
	e.remember(value)
	return value, nil
}

// remember marks the value as one that no error may show: as it is, quoted, and the password in it if
// it is a URL, since net/url quotes pieces of a URL that it cannot parse.
func (e *expander) remember(value string) {
	quoted := strconv.Quote(value)
	forms := []string{value, quoted[1 : len(quoted)-1]}
	if _, rest, ok := strings.Cut(value, "://"); ok {
		at := max(strings.LastIndex(rest, "@"), 0)
		_, password, _ := strings.Cut(rest[:at], ":")
		forms = append(forms, password)
		forms = append(forms, strings.FieldsFunc(password, func(c rune) bool {
			return strings.ContainsRune(":/?#@", c)
		})...)
	}
	for _, form := range forms {
		e.hide(form)
		if plain, err := url.PathUnescape(form); err == nil {
			e.hide(plain)
		}
	}
}

func (e *expander) hide(form string) {
	if len(form) >= minSecret {
		e.secrets[form] = true
	}
}

// scrubber returns a function that replaces the values of environment variables in a text.
func (e *expander) scrubber() func(string) string {
	pairs := make([]string, 0, 2*len(e.secrets))
	// The longest come first: one value may be a part of another.
	for _, secret := range slices.SortedFunc(maps.Keys(e.secrets), func(a, b string) int {
		return cmp.Compare(len(b), len(a))
	}) {
		pairs = append(pairs, secret, "***")
	}
	return strings.NewReplacer(pairs...).Replace
}
