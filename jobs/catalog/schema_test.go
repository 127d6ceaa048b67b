package catalog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/jobs/catalog"
)

func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	const in = "services[0].plans[0].parameters"
	for _, tt := range []struct {
		name, schema string
		want         []string
	}{
		{"no mapping", `3`, []string{in + ": must be a mapping"}},
		{"other type", `{ type: array }`, []string{in + ".type: must be \"object\""}},
		{"open", `{ additionalProperties: true }`, []string{in + ".additionalProperties: must be false"}},
		{"typing error", `{ propertys: {} }`, []string{in + ".propertys: is unknown here; known are type, title, " +
			"description, properties, required, additionalProperties, dependentRequired, $defs, $comment"}},
		{"keyword", `{ properties: { a: { type: string, minlength: 3 } } }`,
			[]string{in + ".properties.a.minlength: is not a keyword of JSON Schema; own ones start with x-"}},
		{"bad keyword", `{ properties: { a: { type: string, minLength: -1 } } }`,
			[]string{in + ".properties.a.minLength: must be at least 0"}},
		{"pattern", `{ properties: { a: { type: string, pattern: "(?=x)" } } }`,
			[]string{in + ".properties.a.pattern: must be a regular expression in Go's syntax"}},
		{"pattern name", `{ properties: { a: { patternProperties: { "(": {} } } } }`,
			[]string{in + ".properties.a: has a name that is not allowed"}},
		{"format", `{ properties: { a: { type: string, format: emial } } }`,
			[]string{in + ".properties.a.format: is not a known format"}},
		{"file", `{ properties: { a: { $ref: "file:///etc/passwd" } } }`,
			[]string{in + ": a $ref must stay within the schema"}},
		{"relative file", `{ properties: { a: { $ref: "other.json" } } }`,
			[]string{in + ": a $ref must stay within the schema"}},
		{"remote", `{ properties: { a: { $ref: "http://localhost:1/x" } } }`,
			[]string{in + ": a $ref must stay within the schema"}},
		{"nowhere", `{ properties: { a: { $ref: "#/$defs/none" } } }`, nil},
		{"other draft", `{ properties: { a: { $schema: "http://json-schema.org/draft-04/schema#" } } }`, nil},
		{"boolean schema", `{ properties: { a: true } }`, []string{in + ".properties.a: must be a mapping"}},
		{"name", `{ properties: { "a b": {} } }`,
			[]string{in + ".properties.a b: the parameter's name must match ^[A-Za-z_][A-Za-z0-9_.-]{0,62}$"}},
		{"cost", `{ properties: { confirm_cost: {} } }`,
			[]string{in + ".properties.confirm_cost: is the name of the cost question"}},
		{"default", `{ properties: { a: { type: integer, maximum: 3, default: 4 } } }`,
			[]string{in + ".properties.a.default: must be at most 3"}},
		{"default item", `{ properties: { a: { type: array, items: { type: string }, default: [x, 1] } } }`,
			[]string{in + ".properties.a.default[1]: must be of type string"}},
		{"secret default", `{ properties: { a: { type: string, writeOnly: true, default: x } } }`,
			[]string{in + ".properties.a.default: a writeOnly parameter must not have a default, which everyone would see"}},
		{"nested secret", `{ properties: { a: { type: object, properties: { b: { writeOnly: true } } } } }`,
			[]string{in + ".properties.a.properties.b.writeOnly: must stand at the parameter itself"}},
		{"secret definition", `{ $defs: { s: { writeOnly: true } }, properties: { a: { $ref: "#/$defs/s" } } }`,
			[]string{in + ".$defs.s.writeOnly: must stand at the parameter itself"}},
		{"who", `{ properties: { a: { x-answerable-by: persons } } }`,
			[]string{in + ".properties.a.x-answerable-by: must be any or person"}},
		{"required", `{ properties: { a: {} }, required: a }`, []string{in + ".required: must be a list of parameters"}},
		{"required unknown", `{ required: [b] }`, []string{in + ".required[0]: must be one of the properties"}},
		{"required twice", `{ properties: { a: { type: string } }, required: [a, a] }`,
			[]string{in + ".required[1]: is given twice"}},
		{"not askable", `{ properties: { a: { type: object } }, required: [a] }`,
			[]string{in + ".required[0]: is required without a default, so it must be possible to ask for it: " +
				"type must be string, number, integer, boolean or array"}},
		{"properties", `{ properties: [a], required: [a] }`,
			[]string{in + ".properties: must be of type object", in + ".required[0]: must be one of the properties"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := catalog.Load("c.yaml", []byte(onePlan("parameters: "+tt.schema)), environment(), testDrivers)
			if err == nil {
				t.Fatal("no error")
			}
			var got []string
			for line := range strings.SplitSeq(err.Error(), "\n") {
				place, rule, _ := strings.Cut(line, ": ")
				if !strings.HasPrefix(place, "c.yaml:8:") {
					t.Errorf("%s: the place is wrong", line)
				}
				got = append(got, rule)
			}
			if diff := cmp.Diff(tt.want, got); tt.want != nil && diff != "" {
				t.Error(diff)
			}
			t.Log(err)
		})
	}
}
