package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/provisiond/provisiond/jobs/catalog"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	env := environment("A", "alpha", "EMPTY", "", "YAML", "\"}\nplans: [1] # ${A}", "B_2", "beta")
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"},
		{"${A}", "alpha"},
		{"x${A}y${B_2}z", "xalphaybetaz"},
		{"${EMPTY}", ""},
		{"${EMPTY:-default}", "default"},
		{"${NONE:-}", ""},
		{"${NONE:-a:-b}", "a:-b"},
		{"${A:-default}", "alpha"},
		{"$$", "$"},
		{"$${A}", "${A}"},
		{"$$${A}", "$alpha"},
		{"^[a-z]+$", "^[a-z]+$"},
		{"$5", "$5"},
		{"${YAML}", "\"}\nplans: [1] # ${A}"},
	} {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			c, err := catalog.Load("c.yaml", []byte(onePlan("settings: { v: '"+tt.in+"' }")), env, testDrivers)
			if err != nil {
				t.Fatal(err)
			}
			var settings struct{ V string }
			if err := json.Unmarshal(c.Services[0].Plans[0].Settings, &settings); err != nil {
				t.Fatal(err)
			}
			if settings.V != tt.want {
				t.Errorf("got %q, want %q", settings.V, tt.want)
			}
		})
	}
}

func TestExpandRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"${NONE}", "environment variable NONE is not set"},
		{"${A", "must name a variable"},
		{"${}", "must name a variable"},
		{"${1A}", "must name a variable"},
		{"${A-b}", "must name a variable"},
		{"${NUL}", "must not contain the NUL character"},
	} {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			_, err := catalog.Load("c.yaml", []byte(onePlan("settings: { v: '"+tt.in+"' }")),
				environment("A", "alpha", "NUL", "a\x00b"), testDrivers)
			want := "c.yaml:8:24: services[0].plans[0].settings.v: " + tt.want
			if got := errorText(err); !strings.HasPrefix(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestExpandScrubs: an error shows no value of an environment variable, nor the password of a URL.
func TestExpandScrubs(t *testing.T) {
	t.Parallel()
	const canary = "canary"
	for _, tt := range []struct{ name, value, yaml string }{
		{"an ID", "Canary-canary", "services: [{ id: '${S}', name: x, driver: test, plans: [{ id: a, name: A }] }]"},
		{"a driver", canary, "services: [{ id: a, name: x, driver: '${S}', plans: [{ id: a, name: A }] }]"},
		{"configuration", "wrong" + canary, "services: [{ id: a, name: x, driver: test, config: { url: '${S}' }, plans: [{ id: a, name: A }] }]"},
		{"a URL", "wrong://user:" + canary + "@host:x", "services: [{ id: a, name: x, driver: test, config: { url: '${S}' }, plans: [{ id: a, name: A }] }]"},
		{"a part of a URL", "postgres://user:p%40" + canary + "@host", "services: [{ id: a, name: x, driver: test, config: { url: 'wrong p@" + canary + " ${S}' }, plans: [{ id: a, name: A }] }]"},
		{"quoted", "wrong\"\n" + canary, "services: [{ id: a, name: x, driver: test, config: { url: '${S}' }, plans: [{ id: a, name: A }] }]"},
		{"a pattern", "(" + canary, onePlan("parameters: { properties: { p: { type: string, pattern: '${S}' } } }")},
		{"a type", canary, onePlan("parameters: { properties: { p: { type: '${S}' } } }")},
		{"a default", canary, onePlan("parameters: { properties: { p: { type: integer, default: '${S}' } } }")},
		{"a reference", "http://" + canary, onePlan("parameters: { properties: { p: { $ref: '${S}' } } }")},
		{"an anchor", canary, onePlan("parameters: { properties: { p: { $ref: '#${S}' } } }")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := catalog.Load("c.yaml", []byte(tt.yaml), environment("S", tt.value), testDrivers)
			if err == nil {
				t.Fatal("no error")
			}
			if strings.Contains(strings.ToLower(err.Error()), canary) {
				t.Errorf("the error shows the value: %v", err)
			}
		})
	}
}
