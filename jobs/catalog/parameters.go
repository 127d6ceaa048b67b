package catalog

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxParameters is the API's bound on the fields of parameters and answers.
const maxParameters = 100

// personKeyword in a parameter's schema says who may answer its question: any (the default) or
// person.
const personKeyword = "x-answerable-by"

// mutableKeyword in a parameter's schema says whether an update may change it; by default it may not.
const mutableKeyword = "x-mutable"

var parameterForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,62}$`)

// parameters reads the schema of a plan's parameters into the plan.
func (l *loader) parameters(n *node, p *Plan) {
	schema := map[string]any{"type": "object", "properties": map[string]any{}, "additionalProperties": false}
	p.defaults = json.RawMessage("{}")
	var o object
	if n != nil {
		o = l.object(n, "type", "title", "description", "properties", "required", "additionalProperties",
			"dependentRequired", "$defs", "$comment")
		for name, field := range o.fields {
			schema[name] = field.plain()
		}
		l.fixed(o.get("type"), "object")
		l.fixed(o.get("additionalProperties"), false)
	}
	p.Parameters = encode(schema)

	// Required parameters that are missing are asked, which is no error.
	delete(schema, "required")
	compiled, err := l.compile(schema)
	if err != nil {
		for _, e := range schemaErrors(err) {
			l.add(n.find(steps(e.Pointer)), "%s", e.Detail)
		}
		compiled = &jsonschema.Schema{} // the other checks go on without it
	}
	p.schema = compiled
	l.properties(o.get("properties"), p)
	l.required(o.get("required"), p)
	l.noSecret(o.get("$defs"))
}

// compile compiles equal schemas once: it is most of a load's work, and plans often share theirs.
func (l *loader) compile(schema map[string]any) (*jsonschema.Schema, error) {
	key := string(encode(schema))
	if compiled, ok := l.compiled[key]; ok {
		return compiled, nil
	}
	compiled, err := compile(schema)
	if err == nil {
		l.compiled[key] = compiled
	}
	return compiled, err
}

func (l *loader) fixed(n *node, want any) {
	if n != nil && n.value != want {
		l.add(n, "must be %s", encode(want))
	}
}

func (l *loader) properties(n *node, p *Plan) {
	if n == nil {
		return
	}
	fields, _ := n.value.([]field) // anything else did not compile
	if len(fields) > maxParameters {
		l.add(n, "must have at most %d parameters", maxParameters)
	}
	p.properties = make(map[string]property, len(fields))
	defaults := map[string]any{}
	for _, f := range fields {
		if !parameterForm.MatchString(f.name) {
			l.add(f.value, "the parameter's name must match %s", parameterForm)
		}
		if f.name == costQuestion {
			l.add(f.value, "is the name of the cost question")
		}
		prop := l.property(f.value, p.schema.Properties[f.name])
		p.properties[f.name] = prop
		if value := prop.defaultValue(); value != nil {
			defaults[f.name] = value
		}
	}
	p.defaults = encode(defaults)
}

func (l *loader) property(n *node, compiled *jsonschema.Schema) property {
	fields, ok := n.value.([]field)
	if !ok {
		l.add(n, "must be a mapping")
		return property{}
	}
	for _, f := range fields {
		l.noSecret(f.value)
		if !keywords[f.name] && !strings.HasPrefix(f.name, "x-") {
			l.addAt(f.nameAt, join(n.path(), f.name), "is not a keyword of JSON Schema; own ones start with x-")
		}
	}
	if who := n.child(personKeyword); who != nil && who.value != "any" && who.value != "person" {
		l.add(who, "must be any or person")
	}
	if mutable := n.child(mutableKeyword); mutable != nil && mutable.value != true && mutable.value != false {
		l.add(mutable, "must be true or false")
	}
	if format := n.child("format"); format != nil && compiled != nil && compiled.Format == nil {
		l.add(format, "is not a known format")
	}
	prop := property{schema: n.plain().(map[string]any)}
	if value := n.child("default"); value != nil && compiled != nil {
		l.defaultValue(value, prop, compiled)
	}
	return prop
}

func (l *loader) defaultValue(n *node, prop property, compiled *jsonschema.Schema) {
	if prop.secret() {
		l.add(n, "a writeOnly parameter must not have a default, which everyone would see")
	}
	for _, e := range FieldErrors(compiled.Validate(n.plain()), nil) {
		l.add(n.find(steps(e.Pointer)), "%s", e.Detail)
	}
}

func (l *loader) required(n *node, p *Plan) {
	if n == nil {
		return
	}
	names, ok := n.value.([]*node)
	if !ok {
		l.add(n, "must be a list of parameters")
	}
	for _, item := range names {
		name, _ := item.value.(string)
		prop, ok := p.properties[name]
		switch {
		case !ok:
			l.add(item, "must be one of the properties")
		case slices.Contains(p.required, name):
			l.add(item, "is given twice")
		default:
			p.required = append(p.required, name)
			if prop.defaultValue() != nil {
				continue // never asked
			}
			if rule := flatProperty(prop.question()); rule != "" {
				l.add(item, "is required without a default, so it must be possible to ask for it: %s", rule)
			}
		}
	}
}

// noSecret refuses writeOnly in a part of a parameter: only a whole one can be kept secret.
func (l *loader) noSecret(n *node) {
	if n == nil {
		return
	}
	switch v := n.value.(type) {
	case []field:
		for _, f := range v {
			if f.name == "writeOnly" && f.value.value == true {
				l.add(f.value, "must stand at the parameter itself")
			}
			l.noSecret(f.value)
		}
	case []*node:
		for _, item := range v {
			l.noSecret(item)
		}
	}
}

// steps reads a JSON Pointer.
func steps(pointer string) []string {
	if pointer == "" {
		return nil
	}
	steps := strings.Split(pointer[1:], "/")
	for i, step := range steps {
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
	}
	return steps
}
