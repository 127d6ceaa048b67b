package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/jobs/catalog"
)

const (
	oneField  = `{"type": "object", "properties": {"region": {"type": "string", "enum": ["eu", "us"]}}, "required": ["region"]}`
	twoFields = `{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "minimum": 1},
		"tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}}}`
	multiple = `{"type": "object", "properties": {"a/b": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}}}`
)

func TestCheckAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, schema, content string
		want                  []catalog.FieldError
	}{
		{"good", oneField, `{"region": "eu"}`, nil},
		{"good numbers", twoFields, `{"n": 1.0, "tags": ["a"]}`, nil},
		{"missing", oneField, `{}`, []catalog.FieldError{{Pointer: "/region", Detail: "is required"}}},
		{"nil", oneField, `null`, []catalog.FieldError{{Pointer: "/region", Detail: "is required"}}},
		{"wrong", oneField, `{"region": "canary"}`, []catalog.FieldError{{Pointer: "/region", Detail: `must be one of "eu", "us"`}}},
		{"unknown", oneField, `{"region": "eu", "x": 1}`, []catalog.FieldError{{Pointer: "/x", Detail: "is unknown"}}},
		{"all", twoFields, `{"n": 0, "tags": ["canary"], "x": 1}`, []catalog.FieldError{
			{Pointer: "/n", Detail: "must be at least 1"}, {Pointer: "/tags/0", Detail: `must be one of "a", "b"`},
			{Pointer: "/x", Detail: "is unknown"}}},
		{"NUL", oneField, `{"region": "\u0000"}`, []catalog.FieldError{{Pointer: "/region", Detail: "must not contain the NUL character"}}},
		{"bad schema", `{"type": "object", "properties": {"p": {"type": "string", "pattern": "("}}}`, `{}`,
			[]catalog.FieldError{{Detail: "cannot be checked: the question's schema is not valid"}}},
		{"no schema", ``, `{}`, []catalog.FieldError{{Detail: "cannot be checked: the question's schema is not valid"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			number, float := decode(t, tt.content)
			for _, content := range []map[string]any{number, float} {
				if diff := cmp.Diff(tt.want, catalog.CheckAnswer(json.RawMessage(tt.schema), content)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestNormalizeAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, schema, value, want string
		errs                      []catalog.FieldError
	}{
		{"content", oneField, `{"region": "eu"}`, `{"region":"eu"}`, nil},
		{"bare", oneField, `"eu"`, `{"region":"eu"}`, nil},
		{"bare list", multiple, `["a"]`, `{"a/b":["a"]}`, nil},
		{"wrong content", oneField, `{"region": "cn"}`, `{"region":"cn"}`,
			[]catalog.FieldError{{Pointer: "/region", Detail: `must be one of "eu", "us"`}}},
		{"wrong bare", oneField, `"cn"`, `{"region":"cn"}`, []catalog.FieldError{{Detail: `must be one of "eu", "us"`}}},
		{"wrong bare item", multiple, `["c"]`, `{"a/b":["c"]}`, []catalog.FieldError{{Pointer: "/0", Detail: `must be one of "a", "b"`}}},
		{"null", oneField, `null`, `{"region":null}`, []catalog.FieldError{{Detail: "must be of type string"}}},
		{"bare for two", twoFields, `1`, `null`, []catalog.FieldError{{Detail: "must be an object with the question's fields"}}},
		{"bad schema", `{}`, `1`, `null`, []catalog.FieldError{{Detail: "cannot be checked: the question's schema is not valid"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var value any
			if err := json.Unmarshal([]byte(tt.value), &value); err != nil {
				t.Fatal(err)
			}
			content, errs := catalog.NormalizeAnswer(json.RawMessage(tt.schema), value)
			got, err := json.Marshal(content)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if diff := cmp.Diff(tt.errs, errs); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzCheckAnswer: no schema and no answer makes a panic, what is accepted is in the subset of the
// schema's fields, and no rule quotes the answer.
func FuzzCheckAnswer(f *testing.F) {
	for _, schema := range []string{oneField, twoFields, multiple, `{"$schema": "x"}`} {
		for _, answer := range []string{`{"region": "eu"}`, `"eu"`, `{"n": 1e999999999}`, `{"n": [[{"x": "\u0000"}]]}`, `null`} {
			f.Add(schema, answer)
		}
	}
	f.Fuzz(func(t *testing.T, schema, answer string) {
		const canary = "canary-7f3a"
		var value any
		d := json.NewDecoder(strings.NewReader(answer))
		d.UseNumber()
		if d.Decode(&value) != nil {
			return
		}
		content, errs := catalog.NormalizeAnswer(json.RawMessage(schema), value)
		if catalog.CheckFlatSchema(json.RawMessage(schema)) == nil && content != nil {
			if again := catalog.CheckAnswer(json.RawMessage(schema), content); len(again) != len(errs) {
				t.Errorf("NormalizeAnswer says %v, CheckAnswer %v", errs, again)
			}
		}
		for _, e := range catalog.CheckAnswer(json.RawMessage(schema), map[string]any{"region": canary}) {
			if strings.Contains(e.Pointer+e.Detail, canary) {
				t.Errorf("%v quotes the answer", e)
			}
		}
	})
}
