package mcpfacade_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestSchemasArePortable(t *testing.T) {
	t.Parallel()
	list := send(t, newFacade(t, newRecorder()), rpc{version: modern, method: "tools/list"})
	if size := list.Body.Len(); size > 25_000 {
		t.Errorf("tools/list has %d bytes, want under 25,000", size)
	}
	result := decodeObject(t, list.Body.Bytes())["result"].(map[string]any)
	var names []string
	for _, raw := range result["tools"].([]any) {
		tool := raw.(map[string]any)
		names = append(names, tool["name"].(string))
		for _, kind := range []string{"inputSchema", "outputSchema"} {
			s := tool[kind].(map[string]any)
			if s["type"] != "object" {
				t.Errorf("%s %s: the root is no object", tool["name"], kind)
			}
			lint(t, fmt.Sprint(tool["name"], " ", kind), s)
		}
		for name, raw := range tool["inputSchema"].(map[string]any)["properties"].(map[string]any) {
			if description, _ := raw.(map[string]any)["description"].(string); description == "" {
				t.Errorf("%s: argument %s has no description", tool["name"], name)
			}
		}
		annotations := tool["annotations"].(map[string]any)
		readOnly := strings.HasPrefix(tool["name"].(string), "list_") || strings.HasPrefix(tool["name"].(string), "get_")
		if annotations["readOnlyHint"] != readOnly {
			t.Errorf("%s: readOnlyHint is %v", tool["name"], annotations["readOnlyHint"])
		}
	}
	if !slices.IsSorted(names) || len(names) != 16 {
		t.Errorf("tools %v", names)
	}
}

// lint looks for what has been seen to make hosts drop all tools.
func lint(t *testing.T, where string, value any) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		for keyword, inner := range v {
			switch keyword {
			case "$ref", "$schema", "oneOf", "anyOf", "allOf", "$defs":
				t.Errorf("%s has %s", where, keyword)
			case "type":
				if _, list := inner.([]any); list {
					t.Errorf("%s has a list of types", where)
				}
			}
			lint(t, where, inner)
		}
	case []any:
		for _, inner := range v {
			lint(t, where, inner)
		}
	}
}
