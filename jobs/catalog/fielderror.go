package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// FieldError says what is wrong with one value. It never holds the value.
type FieldError struct {
	// Pointer is a JSON Pointer (RFC 6901) relative to the checked value.
	Pointer string
	// Detail is the rule.
	Detail string
}

// maxStep bounds a step of a pointer, in characters: names may be the client's.
const maxStep = 64

// Pointer writes a JSON Pointer (RFC 6901). Long steps are cut.
func Pointer(steps ...string) string {
	var b strings.Builder
	for _, step := range steps {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(cut(step)))
	}
	return b.String()
}

func cut(step string) string {
	runes := 0
	for i := range step {
		if runes++; runes > maxStep {
			return step[:i] + "…"
		}
	}
	return step
}

// limit puts faults in an order that does not depend on Go's maps and keeps the first ones, so that
// a bad request cannot make a huge answer.
func limit(errs []FieldError) []FieldError {
	slices.SortFunc(errs, func(a, b FieldError) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Detail, b.Detail))
	})
	errs = slices.Compact(errs)
	return errs[:min(len(errs), maxErrors)]
}

// FieldErrors turns the error of a jsonschema validation into rules; nil stays nil. The library's own
// texts quote the value, so only its typed facts are used. examples, by pattern, show what matches.
func FieldErrors(err error, examples map[string]string) []FieldError {
	var invalid *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		return limit(collector{examples}.collect(invalid, nil))
	default:
		return []FieldError{{Detail: "is not valid"}}
	}
}

type collector struct {
	examples map[string]string
}

// collect lists the faults under e; object is where the object is whose schema e belongs to.
func (c collector) collect(e *jsonschema.ValidationError, object []string) []FieldError {
	at := func(name, detail string) FieldError {
		return FieldError{Pointer: Pointer(append(slices.Clone(e.InstanceLocation), name)...), Detail: detail}
	}
	var errs []FieldError
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			errs = append(errs, at(name, "is required"))
		}
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			errs = append(errs, at(name, "is required where "+k.Prop+" is given"))
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			errs = append(errs, at(name, "is unknown"))
		}
	case *kind.PropertyNames:
		// The validator (v6.0.3) goes on to overwrite this error's own InstanceLocation. A $ref that leads
		// to the schema has the same one.
		place := append(slices.Clone(object), k.Property)
		errs = append(errs, FieldError{Pointer: Pointer(place...), Detail: "has a name that is not allowed"})
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			errs = append(errs, c.collect(cause, e.InstanceLocation)...)
		}
	default:
		errs = append(errs, FieldError{Pointer: Pointer(e.InstanceLocation...), Detail: c.rule(e)})
	}
	return errs
}

// rule says in words what a value must be.
func (c collector) rule(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return "must be of type " + strings.Join(k.Want, " or ")
	case *kind.Enum:
		return oneOf(k.Want)
	case *kind.Const:
		return oneOf([]any{k.Want})
	case *kind.AnyOf:
		return c.alternatives(e)
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return "must match only one of its alternatives"
		}
		return c.alternatives(e)
	case *kind.FalseSchema:
		return "is not allowed"
	case *kind.UniqueItems:
		return "must not hold the same item twice"
	default:
		return cmp.Or(c.textKind(k), numberKind(k), countKind(k), "is not valid")
	}
}

func (c collector) textKind(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Format:
		if k.Want == "regex" {
			return "must be a regular expression in Go's syntax"
		}
		return "must have the format " + k.Want
	case *kind.Pattern:
		if example, ok := c.examples[k.Want]; ok {
			return fmt.Sprintf("must match the pattern %s, such as %s", k.Want, example)
		}
		return "must match the pattern " + k.Want
	case *kind.MinLength:
		return "must have at least " + count(k.Want, "character")
	case *kind.MaxLength:
		return "must have at most " + count(k.Want, "character")
	}
	return ""
}

func numberKind(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Minimum:
		return "must be at least " + decimal(k.Want)
	case *kind.Maximum:
		return "must be at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + decimal(k.Want)
	}
	return ""
}

func countKind(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinItems:
		return "must have at least " + count(k.Want, "item")
	case *kind.MaxItems:
		return "must have at most " + count(k.Want, "item")
	case *kind.MinProperties:
		return "must have at least " + count(k.Want, "field")
	case *kind.MaxProperties:
		return "must have at most " + count(k.Want, "field")
	}
	return ""
}

// count is so many of the thing.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// alternatives names what would do, where each of the alternatives failed on the value itself.
func (c collector) alternatives(e *jsonschema.ValidationError) string {
	var values []any
	var rules []string
	for _, cause := range e.Causes {
		if k, ok := cause.ErrorKind.(*kind.Const); ok {
			values = append(values, k.Want)
		}
		for _, err := range c.collect(cause, e.InstanceLocation) {
			if err.Pointer != Pointer(e.InstanceLocation...) {
				return "must match one of its alternatives"
			}
			rules = append(rules, err.Detail)
		}
	}
	if len(values) == len(e.Causes) {
		return oneOf(values)
	}
	return strings.Join(rules, " or ")
}

// oneOf lists values of the schema, which is public.
func oneOf(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(encode(v))
	}
	if len(texts) == 1 {
		return "must be " + texts[0]
	}
	return "must be one of " + strings.Join(texts, ", ")
}

// decimal writes a bound as people do, to six places.
func decimal(r *big.Rat) string {
	text := r.FloatString(6)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
