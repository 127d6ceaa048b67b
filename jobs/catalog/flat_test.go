package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/provisiond/provisiond/jobs/catalog"
)

func flat(property string) json.RawMessage {
	return json.RawMessage(`{"type": "object", "properties": {"p": ` + property + `}, "required": ["p"]}`)
}

func TestCheckFlatSchema(t *testing.T) {
	t.Parallel()
	for _, property := range []string{
		`{"type": "string"}`,
		`{"type": "string", "title": "T", "description": "D", "default": "abc", "minLength": 1, "maxLength": 3, "pattern": "^a"}`,
		`{"type": "string", "format": "email"}`,
		`{"type": "string", "format": "uri"}`,
		`{"type": "string", "format": "date"}`,
		`{"type": "string", "format": "date-time"}`,
		`{"type": "string", "enum": ["a", "b"], "default": "a"}`,
		`{"type": "string", "oneOf": [{"const": "a", "title": "A"}]}`,
		`{"type": "number", "minimum": 0.5, "maximum": 2, "default": 1}`,
		`{"type": "integer", "minimum": 1}`,
		`{"type": "boolean", "default": true}`,
		`{"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1, "maxItems": 2, "default": ["a"]}`,
		`{"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}`,
	} {
		t.Run(property, func(t *testing.T) {
			t.Parallel()
			if err := catalog.CheckFlatSchema(flat(property)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCheckFlatSchemaRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, schema, want string }{
		{"no JSON", `{`, "must be a JSON object"},
		{"two values", `{} {}`, "must be a JSON object"},
		{"list", `[]`, "must be a JSON object"},
		{"empty", `{}`, "/type: must be object\n/properties: must have 1 to 100 properties"},
		{"keyword", `{"type": "object", "properties": {"p": {"type": "string"}}, "allOf": []}`, "allOf is not allowed here"},
		{"required", `{"type": "object", "properties": {"p": {"type": "string"}}, "required": ["q", 1]}`,
			"/required/0: must be one of the properties\n/required/1: must be one of the properties"},
		{"no list", `{"type": "object", "properties": {"p": {"type": "string"}}, "required": "p"}`, "/required: must be an array"},
		{"NUL", `{"type": "object", "properties": {"p": {"type": "string", "title": "\u0000"}}}`,
			"/properties/p/title: must not contain the NUL character"},
		{"other draft", `{"$schema": "http://json-schema.org/draft-09/schema#", "type": "object", "properties": {"p": {"type": "string"}}}`, "*"},
		{"no object", `true`, "/properties/p: must be an object"},
		{"no type", `{}`, "/properties/p: type must be string, number, integer, boolean or array"},
		{"nested", `{"type": "object"}`, "/properties/p: type must be string, number, integer, boolean or array"},
		{"several types", `{"type": ["string", "null"]}`, "/properties/p: type must be string, number, integer, boolean or array"},
		{"reference", `{"type": "string", "$ref": "#"}`, "/properties/p: $ref is not allowed here"},
		{"format", `{"type": "string", "format": "ipv4"}`, "/properties/p: format must be email, uri, date or date-time"},
		{"secret", `{"type": "string", "writeOnly": true}`, "/properties/p: writeOnly is not allowed here"},
		{"choice of numbers", `{"type": "string", "enum": [1]}`, "/properties/p: enum must hold strings only"},
		{"no choice", `{"type": "string", "enum": []}`, "/properties/p: enum must hold at least one string"},
		{"no title", `{"type": "string", "oneOf": [{"const": "a"}]}`, "/properties/p: oneOf must hold objects of const and title only"},
		{"no titled choice", `{"type": "string", "oneOf": []}`, "/properties/p: oneOf must hold at least one choice"},
		{"length of a number", `{"type": "number", "minLength": 1}`, "/properties/p: minLength is not allowed here"},
		{"bounds of a boolean", `{"type": "boolean", "minimum": 1}`, "/properties/p: minimum is not allowed here"},
		{"free array", `{"type": "array", "items": {"type": "string"}}`, "/properties/p: enum must hold at least one string"},
		{"array of numbers", `{"type": "array", "items": {"type": "number", "enum": [1]}}`,
			"/properties/p: items must be strings with enum, or anyOf"},
		{"no items", `{"type": "array"}`, "/properties/p: items must be an object"},
		{"unique items", `{"type": "array", "uniqueItems": true, "items": {"type": "string", "enum": ["a"]}}`,
			"/properties/p: uniqueItems is not allowed here"},
		{"bad length", `{"type": "string", "minLength": "1"}`, "/properties/p/minLength: must be of type integer"},
		{"bad pattern", `{"type": "string", "pattern": "("}`, "/properties/p/pattern: must be a regular expression in Go's syntax"},
		{"bad title", `{"type": "string", "title": 1}`, "/properties/p/title: must be of type string"},
		{"bad default", `{"type": "integer", "default": "canary"}`, "/properties/p/default: must be of type integer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			schema := json.RawMessage(tt.schema)
			if strings.HasPrefix(tt.want, "/properties/p") && !strings.Contains(tt.schema, "properties") {
				schema = flat(tt.schema)
			}
			got := errorText(catalog.CheckFlatSchema(schema))
			if got == "" || tt.want != "*" && got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
