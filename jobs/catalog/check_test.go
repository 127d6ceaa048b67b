package catalog_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/jobs/catalog"
)

const checked = `parameters:
  properties:
    region: { type: string, enum: [eu, us] }
    password: { type: string, writeOnly: true, minLength: 8 }
    size: { type: integer, minimum: 1, maximum: 10, default: 2 }
    ratio: { type: number, exclusiveMinimum: 0, exclusiveMaximum: 0.5, multipleOf: 0.125 }
    mail: { type: string, format: email }
    code: { type: string, pattern: "^[a-z]+$", maxLength: 3 }
    tags: { type: array, items: { type: string }, uniqueItems: true, minItems: 1, maxItems: 2 }
    color: { oneOf: [ { const: red }, { const: blue } ] }
    either: { anyOf: [ { type: integer }, { type: string, maxLength: 2 } ] }
    deep:
      type: object
      properties: { "a/b~c": { type: boolean } }
      required: ["a/b~c"]
      additionalProperties: false
      minProperties: 1
    never: { not: {} }
    fixed: { const: 1 }
  required: [region, password, size]
  dependentRequired: { mail: [code] }
`

func decode(t *testing.T, object string) (number, float map[string]any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(object))
	d.UseNumber()
	if err := d.Decode(&number); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(object), &float); err != nil {
		t.Fatal(err)
	}
	return number, float
}

func TestCheckParameters(t *testing.T) {
	t.Parallel()
	p := loadPlan(t, checked)
	good := `"region": "eu", "password": "long enough"`
	for _, tt := range []struct {
		name, params string
		missing      []string
		errs         []catalog.FieldError
	}{
		{"good", `{` + good + `}`, nil, nil},
		{"all good", `{` + good + `, "size": 3.0, "ratio": 0.25, "mail": "a@b.c", "code": "abc", "tags": ["a", "b"],
			"color": "red", "either": 5, "deep": {"a/b~c": true}, "fixed": 1}`, nil, nil},
		{"nothing", `{}`, []string{"region", "password"}, nil},
		{"missing and wrong", `{"region": "eu", "size": 11}`, []string{"password"},
			[]catalog.FieldError{{Pointer: "/size", Detail: "must be at most 10"}}},
		{"unknown", `{` + good + `, "x/y": 1, "confirm_cost": true}`, nil, []catalog.FieldError{
			{Pointer: "/confirm_cost", Detail: "is unknown"}, {Pointer: "/x~1y", Detail: "is unknown"}}},
		{"null", `{"region": null, "password": null}`, nil, []catalog.FieldError{
			{Pointer: "/password", Detail: "must be of type string"}, {Pointer: "/region", Detail: "must be of type string"}}},
		{"values", `{"region": "canary", "password": "canary", "size": 1.5, "ratio": 0.7, "mail": "canary", "code": "CANARY"}`,
			nil, []catalog.FieldError{
				{Pointer: "/code", Detail: "must have at most 3 characters"},
				{Pointer: "/code", Detail: "must match the pattern ^[a-z]+$"},
				{Pointer: "/mail", Detail: "must have the format email"},
				{Pointer: "/password", Detail: "must have at least 8 characters"},
				{Pointer: "/ratio", Detail: "must be a multiple of 0.125"},
				{Pointer: "/ratio", Detail: "must be less than 0.5"},
				{Pointer: "/region", Detail: `must be one of "eu", "us"`},
				{Pointer: "/size", Detail: "must be of type integer"},
			}},
		{"more values", `{` + good + `, "ratio": 0, "tags": [], "color": "canary", "either": "canary",
			"deep": {}, "never": 1, "fixed": 2}`, nil, []catalog.FieldError{
			{Pointer: "/color", Detail: `must be one of "red", "blue"`},
			{Pointer: "/deep", Detail: "must have at least 1 field"},
			{Pointer: "/deep/a~1b~0c", Detail: "is required"},
			{Pointer: "/either", Detail: "must be of type integer or must have at most 2 characters"},
			{Pointer: "/fixed", Detail: "must be 1"},
			{Pointer: "/never", Detail: "is not valid"},
			{Pointer: "/ratio", Detail: "must be more than 0"},
			{Pointer: "/tags", Detail: "must have at least 1 item"},
		}},
		{"items", `{` + good + `, "tags": ["canary", "canary", 3], "mail": "a@b.c", "deep": {"a/b~c": "canary", "x": 1}}`,
			nil, []catalog.FieldError{
				{Pointer: "/code", Detail: "is required where mail is given"},
				{Pointer: "/deep/a~1b~0c", Detail: "must be of type boolean"},
				{Pointer: "/deep/x", Detail: "is unknown"},
				{Pointer: "/tags", Detail: "must have at most 2 items"},
				{Pointer: "/tags", Detail: "must not hold the same item twice"},
				{Pointer: "/tags/2", Detail: "must be of type string"},
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			number, float := decode(t, tt.params)
			for _, params := range []map[string]any{number, float} {
				given := len(params)
				filled, missing, errs := p.CheckParameters(params)
				if diff := cmp.Diff(tt.missing, missing); diff != "" {
					t.Errorf("missing: %s", diff)
				}
				if diff := cmp.Diff(tt.errs, errs); diff != "" {
					t.Errorf("errors: %s", diff)
				}
				if filled["size"] == nil || len(params) != given {
					t.Error("the default was not filled into a copy")
				}
			}
		})
	}
}

// TestBounds: what no schema may let through.
func TestBounds(t *testing.T) {
	t.Parallel()
	p := loadPlan(t, `parameters: { properties: { v: { description: Anything } } }`)
	const number = "must be a finite number of ordinary size"
	for _, tt := range []struct {
		name   string
		value  any
		detail string
	}{
		{"NUL", "a\x00b", "must not contain the NUL character"},
		{"no UTF-8", "\xff", "must be valid UTF-8"},
		{"long", strings.Repeat("x", 64<<10+1), "must not be longer than 65536 bytes"},
		{"long enough", strings.Repeat("x", 64<<10), ""},
		{"huge", json.Number("1e1000000000"), number},
		{"tiny", json.Number("1e-1000000000"), number},
		{"many digits", json.Number(strings.Repeat("9", 65)), number},
		{"no number", json.Number("canary"), number},
		{"large", json.Number("1e308"), ""},
		{"not a number", math.NaN(), "must be a finite number"},
		{"no JSON", struct{}{}, "is not valid"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, at := range []struct {
				value   any
				pointer string
			}{
				{tt.value, "/v"}, {[]any{1, tt.value}, "/v/1"}, {map[string]any{"x": tt.value}, "/v/x"},
			} {
				if tt.name == "no JSON" && at.pointer != "/v" {
					continue // nothing looks at it there
				}
				var want []catalog.FieldError
				if tt.detail != "" {
					want = []catalog.FieldError{{Pointer: at.pointer, Detail: tt.detail}}
				}
				_, _, errs := p.CheckParameters(map[string]any{"v": at.value})
				if diff := cmp.Diff(want, errs); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
	for _, name := range []string{"a\x00", strings.Repeat("x", 256), "\xff"} {
		if _, _, errs := p.CheckParameters(map[string]any{name: 1}); len(errs) != 1 || errs[0].Pointer != "" {
			t.Errorf("name %.10q: got %v", name, errs)
		}
	}
	many := map[string]any{}
	for i := range 100 {
		many[strings.Repeat("x", i+1)] = 1
	}
	if _, _, errs := p.CheckParameters(many); len(errs) != 50 {
		t.Errorf("%d errors, want 50", len(errs))
	}
}

// TestConcurrent: a plan is shared by all requests, and what it returns belongs to the caller.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	p := loadPlan(t, `parameters: { properties: { list: { type: array, default: [a] } } }`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				filled, _, errs := p.CheckParameters(nil)
				list, _ := filled["list"].([]any)
				if len(errs) > 0 || len(list) != 1 || list[0] != "a" {
					t.Errorf("got %v, %v", filled, errs)
					return
				}
				list[0] = "changed"
			}
		})
	}
	wg.Wait()
}

func BenchmarkCheckParameters(b *testing.B) {
	c, err := catalog.Load("c.yaml", []byte(onePlan(checked)), environment(), testDrivers)
	if err != nil {
		b.Fatal(err)
	}
	p := &c.Services[0].Plans[0]
	var params map[string]any
	if err := json.NewDecoder(bytes.NewReader([]byte(`{"region": "eu", "password": "long enough"}`))).Decode(&params); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, errs := p.CheckParameters(params); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
