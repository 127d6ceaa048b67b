package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/provisiond/provisiond/jobs/catalog"
)

// broken lists what a value breaks in its schema. It uses the validator's typed facts: the
// validator's texts quote the value.
func (c *contract) broken(schema *jsonschema.Schema, value any) []catalog.FieldError {
	var e *jsonschema.ValidationError
	if !errors.As(schema.Validate(value), &e) {
		return nil
	}
	return c.collect(e, nil)
}

// collect lists the faults under e; object is where the object is whose schema e belongs to.
func (c *contract) collect(e *jsonschema.ValidationError, object []string) []catalog.FieldError {
	var out []catalog.FieldError
	add := func(at []string, detail string, names ...string) {
		for _, name := range names {
			pointer := pointerTo(append(slices.Clone(at), name))
			out = append(out, catalog.FieldError{Pointer: pointer, Detail: detail})
		}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		add(e.InstanceLocation, "is required", k.Missing...)
	case *kind.AdditionalProperties:
		add(e.InstanceLocation, "is unknown", k.Properties...)
	case *kind.PropertyNames:
		// The validator (v6.0.3) goes on to overwrite this error's own InstanceLocation. The $ref that
		// leads to the schema has the same one.
		add(object, "has a name that is not allowed", k.Property)
	case *kind.Schema, *kind.Group, *kind.Reference:
		for _, cause := range e.Causes {
			out = append(out, c.collect(cause, e.InstanceLocation)...)
		}
	default:
		out = append(out, catalog.FieldError{Pointer: pointerTo(e.InstanceLocation), Detail: c.rule(k)})
	}
	return out
}

// rule says in words what a value must be, for the keywords that requests in openapi.yaml use.
func (c *contract) rule(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "must be of type " + strings.Join(k.Want, " or ")
	case *kind.Enum:
		return "must be one of " + quoted(k.Want)
	case *kind.Pattern:
		if example, ok := c.examples[k.Want]; ok {
			return fmt.Sprintf("must match the pattern %s, such as %s", k.Want, example)
		}
		return "must match the pattern " + k.Want
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters", k.Want)
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString()
	case *kind.MaxItems:
		return fmt.Sprintf("must be given at most %d times", k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %d fields", k.Want)
	default:
		return "is not valid"
	}
}

// quoted lists the values of an enum of strings.
func quoted(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprintf("%q", v)
	}
	return strings.Join(texts, ", ")
}
