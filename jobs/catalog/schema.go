package catalog

import (
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaURL names a schema that is compiled; nothing is ever loaded from it.
const schemaURL = "catalog:///schema"

var errOutside = errors.New("a $ref must stay within the schema")

// noLoader keeps a $ref from reading files or the network.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errOutside }

// compile compiles a JSON Schema (2020-12) with its formats asserted. Patterns are Go's regexp, whose
// time is linear. The result is safe for concurrent use.
func compile(schema any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, schema); err != nil {
		return nil, err
	}
	return c.Compile(schemaURL)
}

// schemaErrors says what is wrong with a schema that does not compile, with pointers into it.
func schemaErrors(err error) []FieldError {
	var invalid *jsonschema.SchemaValidationError
	var outside *jsonschema.LoadURLError
	switch {
	case errors.As(err, &invalid):
		return FieldErrors(invalid.Err, nil)
	case errors.As(err, &outside):
		return []FieldError{{Detail: errOutside.Error()}}
	default:
		return []FieldError{{Detail: "must be a JSON Schema: " + strings.ReplaceAll(err.Error(), schemaURL, "")}}
	}
}
