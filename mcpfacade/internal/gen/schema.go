package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// schema is a JSON Schema.
type schema = map[string]any

// document is the part of openapi.yaml that is read.
type document struct {
	Paths      map[string]map[string]any `yaml:"paths"`
	Components map[string]map[string]any `yaml:"components"`
}

// inputKeywords are what hosts understand. Others, $ref above all, have been seen to make a host drop
// every tool of a server; a `propertyNames` or an `example` is no loss, nor are bounds that nobody comes near.
var inputKeywords = []string{
	"type", "description", "enum", "default", "format", "pattern", "minimum", "maximum",
	"items", "properties", "required", "additionalProperties",
}

// outputKeywords leave out what the reader of a result does not need, so that all tools together stay
// small: hosts put them into the model's context. What is told in brief has no enum either.
var (
	outputKeywords = []string{"type", "enum", "items", "properties"}
	briefKeywords  = []string{"type", "items", "properties"}
)

// input is the flat object of a tool's arguments.
func (d *document) input(t tool) (schema, error) {
	properties := schema{}
	var required []string
	for _, a := range t.args {
		s, must, err := d.argument(a)
		if err != nil {
			return nil, fmt.Errorf("argument %s: %w", a.name, err)
		}
		properties[a.name] = s
		if must && !a.optional {
			required = append(required, a.name)
		}
	}
	in := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		in["required"] = required
	}
	return in, nil
}

// output is the object of all properties that a result may have. Only next_step is said to be required.
func (d *document) output(t tool) (schema, error) {
	keep := outputKeywords
	if t.tells != nil {
		keep = briefKeywords
	}
	var out schema
	for _, name := range t.output {
		s, err := d.resolve(d.Components["schemas"][name], keep)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = s
		} else {
			out = union(out, s)
		}
	}
	properties, _ := out["properties"].(schema)
	if properties == nil {
		return nil, fmt.Errorf("%s: not an object with properties", strings.Join(t.output, ", "))
	}
	if err := keepOnly(out, t.tells); err != nil {
		return nil, err
	}
	for _, name := range append([]string{"next_step"}, t.adds...) {
		properties[name] = schema{"type": "string"}
	}
	if _, list := properties["items"]; list {
		properties["truncated"] = schema{"type": "boolean"}
	}
	out["required"] = []string{"next_step"}
	if t.depth > 0 {
		cutBelow(out, t.depth)
	}
	return out, nil
}

// argument finds the schema of an argument and whether the operation requires it.
func (d *document) argument(a arg) (schema, bool, error) {
	if a.operation == "" {
		return a.set, false, nil
	}
	raw, must, err := d.find(a.operation, a.from)
	if err != nil {
		return nil, false, err
	}
	s, err := d.resolve(raw, inputKeywords)
	if err != nil {
		return nil, false, err
	}
	maps.Copy(s, a.set)
	description, _ := s["description"].(string)
	s["description"] = strings.Join(strings.Fields(description+" "+a.note), " ")
	return s, must, nil
}

// find looks an operation's parameter or body property up. A parameter's description goes before
// that of its schema.
func (d *document) find(operation, name string) (schema, bool, error) {
	op, parameters, err := d.operation(operation)
	if err != nil {
		return nil, false, err
	}
	for _, raw := range parameters {
		p, err := d.deref(raw)
		if err != nil {
			return nil, false, err
		}
		if p["name"] != name {
			continue
		}
		s, err := d.deref(p["schema"])
		if err != nil {
			return nil, false, err
		}
		s = maps.Clone(s)
		if description, ok := p["description"]; ok {
			s["description"] = description
		}
		return s, p["required"] == true, nil
	}
	return d.bodyProperty(op, name)
}

func (d *document) bodyProperty(op schema, name string) (schema, bool, error) {
	body, err := d.deref(at(op, "requestBody", "content", "application/json", "schema"))
	if err != nil {
		return nil, false, err
	}
	s, ok := at(body, "properties", name).(schema)
	if !ok {
		return nil, false, fmt.Errorf("no parameter and no property of the body is called %s", name)
	}
	return s, slices.Contains(stringsOf(body["required"]), name), nil
}

// operation finds an operation and the parameters of it and of its path.
func (d *document) operation(id string) (schema, []any, error) {
	for _, item := range d.Paths {
		for _, raw := range item {
			op, ok := raw.(schema)
			if !ok || op["operationId"] != id {
				continue
			}
			own, _ := op["parameters"].([]any)
			shared, _ := item["parameters"].([]any)
			return op, slices.Concat(own, shared), nil
		}
	}
	return nil, nil, fmt.Errorf("no operation is called %s", id)
}
