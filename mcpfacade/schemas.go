package mcpfacade

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
)

// schemasJSON is generated from openapi.yaml; see internal/gen.
//
//go:embed schemas.gen.json
var schemasJSON []byte

// toolSchemas are the schemas of one tool. They are handed on as they stand: what the SDK infers
// from Go types has constructs that some hosts cannot read.
type toolSchemas struct {
	Input  json.RawMessage `json:"input"`
	Output json.RawMessage `json:"output"`
}

func loadSchemas() (map[string]toolSchemas, error) {
	var all map[string]toolSchemas
	if err := json.Unmarshal(schemasJSON, &all); err != nil {
		return nil, fmt.Errorf("mcpfacade: schemas.gen.json: %w", err)
	}
	return all, nil
}

// inputRules are the parts of an input schema that the facade checks itself: what it needs to build a
// safe request. All other rules are the API's, which checks again.
type inputRules struct {
	Required   []string `json:"required"`
	Properties map[string]struct {
		Type    string `json:"type"`
		Pattern string `json:"pattern"`
		pattern *regexp.Regexp
	} `json:"properties"`
}

func parseRules(input json.RawMessage) (*inputRules, error) {
	var rules inputRules
	if err := json.Unmarshal(input, &rules); err != nil {
		return nil, err
	}
	for name, property := range rules.Properties {
		if property.Pattern == "" {
			continue
		}
		var err error
		if property.pattern, err = regexp.Compile(property.Pattern); err != nil {
			return nil, fmt.Errorf("property %s: %w", name, err)
		}
		rules.Properties[name] = property
	}
	return &rules, nil
}
