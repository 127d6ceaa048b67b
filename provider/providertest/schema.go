package providertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/provisiond/provisiond/provider"
)

// checkQuestion checks that a question can be asked: it says what it wants, and its schema is a flat
// object in the subset of MCP's form elicitation that its default, if any, fits.
func checkQuestion(q provider.Question) error {
	if q.Name == "" || q.Message == "" {
		return errors.New("a question has a name and a message")
	}
	if q.Expiry < 0 {
		return errors.New("the expiry is negative")
	}
	if err := checkFlat(q.Schema); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	schema, err := compile(q.Schema)
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if q.Default == nil {
		return nil
	}
	if err := schema.Validate(q.Default); err != nil {
		return fmt.Errorf("the default does not fit the schema: %w", err)
	}
	return nil
}

func compile(schema json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("question.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("question.json")
}

// property is what a property of a flat schema may say.
type property struct {
	Type  string `json:"type"`
	Items *struct {
		Type  string            `json:"type"`
		Enum  []string          `json:"enum"`
		AnyOf []json.RawMessage `json:"anyOf"` //nolint:tagliatelle // JSON Schema's own word
	} `json:"items"`
	Format string `json:"format"`

	// Nesting and references are not flat.
	Properties json.RawMessage `json:"properties"`
	Ref        string          `json:"$ref"`
}

var formats = []string{"", "email", "uri", "date", "date-time"}

func checkFlat(schema json.RawMessage) error {
	var object struct {
		Type       string              `json:"type"`
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
	}
	if err := json.Unmarshal(schema, &object); err != nil {
		return err
	}
	if object.Type != "object" || len(object.Properties) == 0 {
		return errors.New("want type object with properties")
	}
	for _, name := range object.Required {
		if _, ok := object.Properties[name]; !ok {
			return fmt.Errorf("%s is required and not a property", name)
		}
	}
	for name, p := range object.Properties {
		if err := p.check(); err != nil {
			return fmt.Errorf("property %s: %w", name, err)
		}
	}
	return nil
}

func (p property) check() error {
	if p.Properties != nil || p.Ref != "" {
		return errors.New("want no nesting and no references")
	}
	switch p.Type {
	case "string":
		if !slices.Contains(formats, p.Format) {
			return fmt.Errorf("format %q is not one of MCP's: %q", p.Format, formats[1:])
		}
	case "number", "integer", "boolean":
	case "array":
		if p.Items == nil || p.Items.Enum == nil && p.Items.AnyOf == nil {
			return errors.New("an array is a choice of several: its items want an enum or anyOf")
		}
	default:
		return fmt.Errorf("type %q is not flat", p.Type)
	}
	return nil
}
