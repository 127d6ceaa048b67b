package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

func TestParseJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		`{"a": [1, -2.5e3, true, null, "\ud83d\ude00"]}`: map[string]any{"a": []any{json.Number("1"), json.Number("-2500"), true, nil, "😀"}},
		`"\\ud800"`:         `\ud800`,
		`9007199254740991`:  json.Number("9007199254740991"),
		`-9007199254740991`: json.Number("-9007199254740991"),
		`1e308`:             json.Number("1e308"),
		`0.1`:               json.Number("0.1"),
		`61.0`:              json.Number("61"),
		`6.1E+1`:            json.Number("61"),
		`-0.0`:              json.Number("0"),
		`61.000000000000000000000000000000000000000000001`: json.Number("61.000000000000000000000000000000000000000000001"),
		`9007199254740992.0`: json.Number("9007199254740992.0"),
		`{}`:                 map[string]any{},
		`[{"a":1},{"a":1}]`:  []any{map[string]any{"a": json.Number("1")}, map[string]any{"a": json.Number("1")}},
		strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth): nested(maxDepth),
	} {
		got, err := parseJSON([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if !reflect.DeepEqual(want, got) { // cmp takes exponential time for the nested one
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func nested(depth int) any {
	v := []any{}
	for range depth - 1 {
		v = []any{v}
	}
	return v
}

func TestParseJSONRefuses(t *testing.T) {
	t.Parallel()
	for text, pointer := range map[string]string{
		"": "", "\n": "", "{": "", "nul": "", "1 2": "", "\xff": "", "\ufeff{}": "",
		`"\ud800"`: "", `"\udc00\ud800"`: "", `"\ud800\u0061"`: "", `"\ud800\\udc00"`: "",
		`{"a":1,"a":1}`:            "/a",
		`{"a":{"b":1,"\u0062":1}}`: "/a/b",
		`{"a/b~":"\u0000"}`:        "/a~1b~0",
		`[0,1e400]`:                "/1",
		`[0.` + strings.Repeat("1", maxNumber) + `]`: "/0",
		`[1e-400]`: "/0",
		`{"x":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `}`: "/x",
	} {
		_, err := parseJSON([]byte(text))
		var f *fault
		if !errors.As(err, &f) || f.status != http.StatusBadRequest || len(f.fields) != 1 {
			t.Errorf("%q: got %v", text, err)
			continue
		}
		if f.fields[0].Pointer != pointer {
			t.Errorf("%q: pointer %q, want %q", text, f.fields[0].Pointer, pointer)
		}
	}
}

// What is accepted means to every reader what it means to encoding/json; all else is a 400.
func FuzzStrictJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5,"x",null,true]}`, `{"a":1,"a":2}`, `"\ud800"`, `"\u0000"`, `1e999`, `[[[[`, "\xff", `{"a":1}{}`, `-0`, `61.0`, `-6.1e1`, `"\\\ud83d\ude00"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseJSON(data)
		var refused *fault
		if err != nil {
			if !errors.As(err, &refused) || refused.status != http.StatusBadRequest {
				t.Fatalf("%v", err)
			}
			return
		}
		var want any
		d := json.NewDecoder(strings.NewReader(string(data)))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatalf("accepted %q: %v", data, err)
		}
		if want = withPlainIntegers(want); !reflect.DeepEqual(want, got) {
			t.Fatalf("%q: got %v, want %v", data, got, want)
		}
		var plain any
		if err := json.Unmarshal(data, &plain); err != nil {
			t.Fatalf("accepted %q: %v", data, err)
		}
	})
}

func withPlainIntegers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return plainInteger(v)
	case []any:
		for i := range v {
			v[i] = withPlainIntegers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = withPlainIntegers(v[name])
		}
	}
	return v
}
