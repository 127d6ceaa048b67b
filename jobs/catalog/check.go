package catalog

import (
	"bytes"
	"fmt"
	"maps"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// CheckParameters checks parameters against the plan's schema. The values are as encoding/json
// decodes them, with or without UseNumber.
//
// It returns a copy with the defaults of absent parameters (not of parts of one) filled in, their
// numbers as json.Number; the required parameters that are not given, in the order to ask them; and
// all else that is wrong: at most 50 faults.
func (p *Plan) CheckParameters(params map[string]any) (filled map[string]any, missing []string, errs []FieldError) {
	filled = decodeObject(p.defaults)
	maps.Copy(filled, params)
	for _, name := range p.required {
		if _, given := filled[name]; !given {
			missing = append(missing, name)
		}
	}
	if errs = checkBounds(params); len(errs) > 0 {
		return filled, missing, errs
	}
	return filled, missing, FieldErrors(p.schema.Validate(filled), nil)
}

// IsSecret reports whether the parameter's value may be shown to nobody: it is writeOnly.
func (p *Plan) IsSecret(parameter string) bool { return p.properties[parameter].secret() }

// Has reports whether the plan has such a parameter.
func (p *Plan) Has(parameter string) bool {
	_, ok := p.properties[parameter]
	return ok
}

// IsMutable reports whether an update may change the parameter: its schema has x-mutable.
func (p *Plan) IsMutable(parameter string) bool { return p.properties[parameter].mutable() }

// decodeObject decodes what encode made of a mapping. Each call makes a new object.
func decodeObject(data []byte) map[string]any {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	object, ok := v.(map[string]any)
	if err != nil || !ok {
		panic(fmt.Sprintf("catalog: not a JSON object: %v", err))
	}
	return object
}
