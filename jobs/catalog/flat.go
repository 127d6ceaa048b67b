package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// CheckFlatSchema checks that a question's schema is in the subset of JSON Schema that MCP form
// elicitation allows (specification 2026-07-28, client/elicitation, "Requested Schema"): a flat object
// with at least one property. A property is
//   - a string, with minLength, maxLength, pattern, format (email, uri, date, date-time);
//   - a string that is a choice: enum, or oneOf of const and title;
//   - a number or integer, with minimum and maximum;
//   - a boolean;
//   - an array that is a multiple choice: items with enum, or with anyOf of const and title, and
//     minItems, maxItems.
//
// Each may have title, description and default. The error lists all faults, one a line.
func CheckFlatSchema(schema json.RawMessage) error {
	object, errs := parseFlat(schema)
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	compiled, err := compile(object)
	if err != nil {
		for _, e := range schemaErrors(err) {
			errs = append(errs, fmt.Errorf("%s: %s", e.Pointer, e.Detail))
		}
		return errors.Join(errs...)
	}
	for name, prop := range compiled.Properties {
		if prop.Default == nil {
			continue
		}
		for _, e := range FieldErrors(prop.Validate(*prop.Default), nil) {
			errs = append(errs, fmt.Errorf("/properties%s/default%s: %s", Pointer(name), e.Pointer, e.Detail))
		}
	}
	return errors.Join(errs...)
}

// parseFlat decodes the schema and checks its shape.
func parseFlat(schema json.RawMessage) (map[string]any, []error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	object, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, []error{errors.New("must be a JSON object")}
	}
	var errs []error
	for _, e := range checkBounds(object) {
		errs = append(errs, fmt.Errorf("%s: %s", e.Pointer, e.Detail))
	}
	if rule := unknown(object, "$schema", "type", "title", "description", "properties", "required"); rule != "" {
		errs = append(errs, errors.New(rule))
	}
	if object["type"] != "object" {
		errs = append(errs, errors.New("/type: must be object"))
	}
	properties, _ := object["properties"].(map[string]any)
	if len(properties) == 0 || len(properties) > maxParameters {
		errs = append(errs, fmt.Errorf("/properties: must have 1 to %d properties", maxParameters))
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if rule := flatProperty(properties[name]); rule != "" {
			errs = append(errs, fmt.Errorf("/properties%s: %s", Pointer(name), rule))
		}
	}
	return object, append(errs, requiredErrors(object["required"], properties)...)
}

func requiredErrors(required any, properties map[string]any) []error {
	names, ok := required.([]any)
	if required != nil && !ok {
		return []error{errors.New("/required: must be an array")}
	}
	var errs []error
	for i, item := range names {
		name, _ := item.(string)
		if _, ok := properties[name]; !ok {
			errs = append(errs, fmt.Errorf("/required/%d: must be one of the properties", i))
		}
	}
	return errs
}

var flatFormats = []any{"email", "uri", "date", "date-time"}

// flatProperty says why a property is outside the subset, or "". It leaves to the compiler whether
// the keywords' own values are well formed.
func flatProperty(v any) string {
	p, ok := v.(map[string]any)
	if !ok {
		return "must be an object"
	}
	switch p["type"] {
	case "string":
		return flatString(p)
	case "number", "integer":
		return unknownProperty(p, "minimum", "maximum")
	case "boolean":
		return unknownProperty(p)
	case "array":
		return flatArray(p)
	default:
		return "type must be string, number, integer, boolean or array"
	}
}

func flatString(p map[string]any) string {
	if values, ok := p["enum"]; ok {
		return cmp.Or(unknownProperty(p, "enum"), choices(values))
	}
	if values, ok := p["oneOf"]; ok {
		return cmp.Or(unknownProperty(p, "oneOf"), titledChoices("oneOf", values))
	}
	rule := unknownProperty(p, "minLength", "maxLength", "pattern", "format")
	if format, ok := p["format"]; rule == "" && ok && !slices.Contains(flatFormats, format) {
		return "format must be email, uri, date or date-time"
	}
	return rule
}

func flatArray(p map[string]any) string {
	if rule := unknownProperty(p, "items", "minItems", "maxItems"); rule != "" {
		return rule
	}
	items, ok := p["items"].(map[string]any)
	if !ok {
		return "items must be an object"
	}
	if values, ok := items["anyOf"]; ok {
		return cmp.Or(unknown(items, "anyOf"), titledChoices("anyOf", values))
	}
	if items["type"] != "string" {
		return "items must be strings with enum, or anyOf"
	}
	return cmp.Or(unknown(items, "type", "enum"), choices(items["enum"]))
}

func choices(v any) string {
	values, _ := v.([]any)
	for _, value := range values {
		if _, ok := value.(string); !ok {
			return "enum must hold strings only"
		}
	}
	if len(values) == 0 {
		return "enum must hold at least one string"
	}
	return ""
}

func titledChoices(keyword string, v any) string {
	values, _ := v.([]any)
	for _, value := range values {
		choice, _ := value.(map[string]any)
		name, _ := choice["const"].(string)
		title, _ := choice["title"].(string)
		if name == "" || title == "" || len(choice) != 2 {
			return keyword + " must hold objects of const and title only"
		}
	}
	if len(values) == 0 {
		return keyword + " must hold at least one choice"
	}
	return ""
}

func unknownProperty(p map[string]any, keywords ...string) string {
	return unknown(p, append(keywords, "type", "title", "description", "default")...)
}

// unknown names the keywords that are not among those allowed.
func unknown(object map[string]any, allowed ...string) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(allowed, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s is not allowed here", strings.Join(names, ", "))
}
