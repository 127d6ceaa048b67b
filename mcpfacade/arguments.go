package mcpfacade

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/provisiond/provisiond/client"
)

// arguments are those of one call, checked for their names and types.
type arguments map[string]json.RawMessage

// argumentError lists all that is wrong with the arguments. It never holds a value.
type argumentError struct {
	errors []client.FieldError
}

// Error implements error.
func (e *argumentError) Error() string {
	var texts []string
	for _, field := range e.errors {
		texts = append(texts, field.Pointer+": "+field.Detail)
	}
	return strings.Join(texts, "; ")
}

func wrongArgument(name, detail string) *argumentError {
	return &argumentError{[]client.FieldError{{Pointer: "/" + name, Detail: detail}}}
}

// parseArguments checks names, types and patterns. null counts as not given, since models write it so.
func parseArguments(rules *inputRules, raw json.RawMessage) (arguments, error) {
	args := arguments{}
	if len(raw) > 0 && json.Unmarshal(raw, &args) != nil {
		return nil, &argumentError{[]client.FieldError{{Pointer: "", Detail: "must be an object"}}}
	}
	maps.DeleteFunc(args, func(_ string, v json.RawMessage) bool { return string(v) == "null" })

	var wrong argumentError
	faults := 0
	add := func(name, detail string) {
		if faults++; faults <= maxFaults {
			wrong.errors = append(wrong.errors, client.FieldError{Pointer: "/" + clip(name, maxName), Detail: detail})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		property, known := rules.Properties[name]
		switch {
		case !known:
			detail := "is not an argument of this tool"
			if faults == 0 {
				detail += "; they are " + strings.Join(slices.Sorted(maps.Keys(rules.Properties)), ", ")
			}
			add(name, detail)
		case !hasType(args[name], property.Type):
			add(name, "must be of type "+property.Type)
		case property.pattern != nil && !property.pattern.MatchString(args.text(name)):
			add(name, "must match "+property.Pattern)
		}
	}
	for _, name := range rules.Required {
		if _, given := args[name]; !given {
			add(name, "is required")
		}
	}
	if faults > maxFaults {
		wrong.errors = append(wrong.errors, client.FieldError{Detail: fmt.Sprintf("and %d more", faults-maxFaults)})
	}
	if len(wrong.errors) > 0 {
		return nil, &wrong
	}
	return args, nil
}

// Bounds of what is told of wrong arguments.
const (
	maxFaults = 20
	maxName   = 64 // bytes
)

// hasType tells the type of a valid JSON value by its first character.
func hasType(value json.RawMessage, typ string) bool {
	switch value[0] {
	case '"':
		return typ == "string"
	case '{':
		return typ == "object"
	case '[':
		return typ == "array"
	case 't', 'f':
		return typ == "boolean"
	default:
		_, err := strconv.Atoi(string(value))
		return typ == "integer" && err == nil
	}
}

// text is a string argument, "" where it is not given.
func (a arguments) text(name string) string {
	var s string
	_ = json.Unmarshal(a[name], &s) // Not given, or a string by parseArguments.
	return s
}

// number is an integer argument, or fallback where it is not given.
func (a arguments) number(name string, fallback int) int {
	n, err := strconv.Atoi(string(a[name]))
	if err != nil {
		return fallback
	}
	return n
}

// optional is a string argument as the client's parameters want it.
func optional[T ~string](a arguments, name string) *T {
	if _, given := a[name]; !given {
		return nil
	}
	value := T(a.text(name))
	return &value
}

// idempotencyKey names the call, so that its repeat is not done again.
func (a arguments) idempotencyKey() *string { return optional[string](a, "idempotency_key") }

// ifMatch is the version of the instance that the caller has seen, in the form of the header.
func (a arguments) ifMatch() *string {
	etag := optional[string](a, "if_match")
	if etag != nil {
		*etag = `"` + strings.Trim(*etag, `"`) + `"`
	}
	return etag
}

// labels are the label filters; none where the argument is not given.
func (a arguments) labels() (*client.Label, error) {
	var labels client.Label
	if value, given := a["label"]; given && json.Unmarshal(value, &labels) != nil {
		return nil, wrongArgument("label", "must be an array of strings")
	}
	if len(labels) == 0 {
		return nil, nil //nolint:nilnil // an empty list would be sent as one empty label
	}
	return &labels, nil
}
