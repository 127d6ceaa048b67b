package catalog

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// CheckAnswer checks an answer's content against its question's schema, which passed
// [CheckFlatSchema]. Fields that the schema does not know are faults. The values are as encoding/json
// decodes them, with or without UseNumber.
func CheckAnswer(schema json.RawMessage, content map[string]any) []FieldError {
	compiled, _, err := compileAnswer(schema)
	if err != nil {
		return []FieldError{badSchema}
	}
	return checkContent(compiled, content)
}

// NormalizeAnswer turns an answer given in advance into checked content. The value is the content
// or, for a question of one field, that field's bare value. Pointers are relative to the value as it
// was given.
func NormalizeAnswer(schema json.RawMessage, value any) (map[string]any, []FieldError) {
	compiled, name, err := compileAnswer(schema)
	if err != nil {
		return nil, []FieldError{badSchema}
	}
	if content, ok := value.(map[string]any); ok {
		return content, checkContent(compiled, content)
	}
	if name == "" {
		return nil, []FieldError{{Detail: "must be an object with the question's fields"}}
	}
	content := map[string]any{name: value}
	errs := checkContent(compiled, content)
	for i := range errs {
		errs[i].Pointer = strings.TrimPrefix(errs[i].Pointer, Pointer(name))
	}
	return content, errs
}

// badSchema is what no answer can mend.
var badSchema = FieldError{Detail: "cannot be checked: the question's schema is not valid"}

// compileAnswer also names the one field of a question of one field.
func compileAnswer(schema json.RawMessage) (*jsonschema.Schema, string, error) {
	object, errs := parseFlat(schema)
	if len(errs) > 0 {
		return nil, "", errs[0]
	}
	object["additionalProperties"] = false
	compiled, err := compile(object)
	if err != nil {
		return nil, "", err
	}
	if names := slices.Collect(maps.Keys(compiled.Properties)); len(names) == 1 {
		return compiled, names[0], nil
	}
	return compiled, "", nil
}

func checkContent(schema *jsonschema.Schema, content map[string]any) []FieldError {
	if content == nil {
		content = map[string]any{} // nil would be JSON's null
	}
	if errs := checkBounds(content); len(errs) > 0 {
		return errs
	}
	return FieldErrors(schema.Validate(content), nil)
}
