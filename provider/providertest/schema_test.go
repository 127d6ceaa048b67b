package providertest

import (
	"encoding/json"
	"testing"

	"github.com/provisiond/provisiond/provider"
)

func TestCheckQuestion(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		schema   string
		defaults map[string]any
		ok       bool
	}{
		"string":           {`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"]}`, nil, true},
		"enum":             {`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"]}}}`, map[string]any{"a": "x"}, true},
		"choice of many":   {`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","enum":["x"]}}}}`, nil, true},
		"default outside":  {`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"]}}}`, map[string]any{"a": "z"}, false},
		"no properties":    {`{"type":"object"}`, nil, false},
		"not an object":    {`{"type":"string"}`, nil, false},
		"nested":           {`{"type":"object","properties":{"a":{"type":"object","properties":{}}}}`, nil, false},
		"free array":       {`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`, nil, false},
		"unknown format":   {`{"type":"object","properties":{"a":{"type":"string","format":"ipv4"}}}`, nil, false},
		"unknown required": {`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`, nil, false},
		"bad keyword":      {`{"type":"object","properties":{"a":{"type":"string","minLength":-1}}}`, nil, false},
		"not JSON":         {`{`, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := checkQuestion(provider.Question{
				Name: "q", Message: "Which?", Schema: json.RawMessage(test.schema), Default: test.defaults,
			})
			if (err == nil) != test.ok {
				t.Errorf("checkQuestion = %v, want ok %t", err, test.ok)
			}
		})
	}
}
