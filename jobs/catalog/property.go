package catalog

import "strings"

// A property is the schema of one parameter.
type property struct{ schema map[string]any }

func (p property) secret() bool { return p.schema["writeOnly"] == true }

func (p property) personOnly() bool { return p.schema[personKeyword] == "person" }

func (p property) mutable() bool { return p.schema[mutableKeyword] == true }

// defaultValue is nil where there is none.
func (p property) defaultValue() any { return p.schema["default"] }

// message asks for the parameter in words.
func (p property) message(name string) string {
	title, _ := p.schema["title"].(string)
	description, _ := p.schema["description"].(string)
	switch {
	case title != "" && description != "":
		return title + ": " + description
	case title+description != "":
		return title + description
	default:
		return "Give a value for " + name + "."
	}
}

// question is the schema without the notes that mean nothing in a question.
func (p property) question() map[string]any {
	schema := map[string]any{}
	for keyword, value := range p.schema {
		if !notes[keyword] && !strings.HasPrefix(keyword, "x-") {
			schema[keyword] = value
		}
	}
	return schema
}

var notes = set("writeOnly", "readOnly", "deprecated", "examples", "$comment")

// keywords are those of JSON Schema 2020-12. The library ignores others, which would hide a typing
// error.
var keywords = set(
	"$id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor", "$defs", "$comment",
	"type", "enum", "const", "title", "description", "default", "deprecated", "readOnly", "writeOnly",
	"examples", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
	"minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType", "contentSchema",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"items", "prefixItems", "contains", "minContains", "maxContains", "minItems", "maxItems",
	"uniqueItems", "unevaluatedItems",
	"properties", "patternProperties", "additionalProperties", "propertyNames", "required",
	"minProperties", "maxProperties", "dependentRequired", "dependentSchemas", "unevaluatedProperties",
)

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, word := range words {
		m[word] = true
	}
	return m
}
