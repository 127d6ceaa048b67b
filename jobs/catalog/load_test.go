package catalog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/jobs/catalog"
)

const whole = `
services:
  - id: zoo
    name: Zoo
    description: Animals
    driver: sandbox
    config: { url: "${URL}/x" }
    plans:
      - id: one
        name: One
        description: The first
        price: { amount: "5.00", currency: USD, per: month }
        confirm_cost: true
        deadline: 10m
        question_expiry: 1h
        parameters: &parameters
          properties:
            region: { type: string, enum: [eu, us], title: Region }
          required: [region]
        settings: &settings { limit: 20, hex: 0x1F, big: 12345678901234567890, on: yes, note: "a $$ and ${NONE:-none}" }
      - id: two
        name: Two
        parameters: *parameters
        <<: [{ name: Merged, deadline: 1m }, { deadline: 2m }]
        settings: { <<: *settings, limit: 30 }
  - { id: ant, name: Ant, driver: test, plans: [ { id: one, name: One } ] }
`

func TestLoad(t *testing.T) {
	t.Parallel()
	c := load(t, whole, "URL", "http://host")

	if got, want := []string{c.Services[0].ID, c.Services[1].ID}, []string{"ant", "zoo"}; !cmp.Equal(got, want) {
		t.Errorf("services are %v, want %v", got, want)
	}
	zoo, ok := c.Service("zoo")
	if !ok || !zoo.Simulated || zoo.Driver == nil || zoo.DriverName != "sandbox" {
		t.Fatalf("Service(zoo) = %+v, %v", zoo, ok)
	}
	if _, ok := c.Service("cat"); ok {
		t.Error("a service that is not there was found")
	}
	one, ok := zoo.Plan("one")
	if !ok || one.Name != "One" || one.Description != "The first" || !one.ConfirmCost ||
		one.Deadline != 10*time.Minute || one.QuestionExpiry != time.Hour {
		t.Errorf("Plan(one) = %+v, %v", one, ok)
	}
	if diff := cmp.Diff(&catalog.Price{Amount: "5.00", Currency: "USD", Per: "month"}, one.Price); diff != "" {
		t.Error(diff)
	}
	if _, ok := zoo.Plan("three"); ok {
		t.Error("a plan that is not there was found")
	}
	two, _ := zoo.Plan("two")
	if two.Name != "Two" || two.Deadline != time.Minute {
		t.Errorf("Plan(two) = %+v: own keys win, then the first merged", two)
	}
	for _, tt := range []struct{ name, got, want string }{
		{"settings", string(one.Settings),
			`{"big":12345678901234567890,"hex":31,"limit":20,"note":"a $ and none","on":"yes"}`},
		{"merged settings", string(two.Settings),
			`{"big":12345678901234567890,"hex":31,"limit":30,"note":"a $ and none","on":"yes"}`},
		{"schema", string(two.Parameters),
			`{"additionalProperties":false,"properties":{"region":{"enum":["eu","us"],"title":"Region","type":"string"}},` +
				`"required":["region"],"type":"object"}`},
		{"no settings", string(c.Services[0].Plans[0].Settings), `{}`},
		{"no schema", string(c.Services[0].Plans[0].Parameters),
			`{"additionalProperties":false,"properties":{},"type":"object"}`},
	} {
		if tt.got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, tt.got, tt.want)
		}
	}
}

// TestHashes: what users see changes the ETag, and what they pay for and get changes the version.
func TestHashes(t *testing.T) {
	t.Parallel()
	base := load(t, whole, "URL", "http://host")
	for _, tt := range []struct {
		name, from, to string
		etag, version  bool
	}{
		{"configuration", "/x", "/y", false, false},
		{"a comment", "services:", "services: # all", false, false},
		{"description", "The first", "First", true, false},
		{"price", `"5.00"`, `"6.00"`, true, true},
		{"settings", "limit: 20", "limit: 21", false, true},
		{"parameters", "[eu, us]", "[eu, us, cn]", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			other := load(t, strings.Replace(whole, tt.from, tt.to, 1), "URL", "http://host")
			if changed := base.ETag != other.ETag; changed != tt.etag {
				t.Errorf("ETag changed: %v, want %v", changed, tt.etag)
			}
			if changed := base.Services[1].Plans[0].Version != other.Services[1].Plans[0].Version; changed != tt.version {
				t.Errorf("version changed: %v, want %v", changed, tt.version)
			}
		})
	}
	if !strings.HasPrefix(base.ETag, `"`) || !strings.HasSuffix(base.ETag, `"`) {
		t.Errorf("ETag %s is not in quotes", base.ETag)
	}
}

// TestLoadAll: every fault of a file is reported at once, in its order.
func TestLoadAll(t *testing.T) {
	t.Parallel()
	_, err := catalog.Load("c.yaml", []byte(`services:
  - id: Shop
    name: 5
    driver: nope
    size: 1
    plans: []
  - id: shop
    driver: test
    config: { url: "${NOT_SET}" }
    plans:
      - id: small
        name: Small
        name: Smaller
        price: { amount: 5.00, currency: usd, per: day, vat: 1 }
        deadline: soon
        confirm_cost: maybe
        settings: { bad: 1 }
        parameters:
          properties:
            region: { type: strange, colour: red }
          required: [region, size]
      - { id: small, name: Small }
  - { id: shop, name: Shop, driver: test, plans: 3 }
`), environment(), testDrivers)
	want := `c.yaml:2:9: services[0].id: must match ^[a-z][a-z0-9-]{0,62}$
c.yaml:3:11: services[0].name: must be a string (put it in quotes)
c.yaml:4:13: services[0].driver: is not a driver; the drivers are postgres, sandbox, test
c.yaml:5:5: services[0].size: is unknown here; known are id, name, description, driver, config, plans
c.yaml:6:12: services[0].plans: must be a list of at least one item
c.yaml:7:5: services[1]: name is required
c.yaml:9:20: services[1].config.url: environment variable NOT_SET is not set
c.yaml:13:9: services[1].plans[0].name: is given twice, first on line 12
c.yaml:14:26: services[1].plans[0].price.amount: must be a decimal number in quotes, such as "5.00"
c.yaml:14:42: services[1].plans[0].price.currency: must be an ISO 4217 code of three capitals, such as USD
c.yaml:14:52: services[1].plans[0].price.per: must be month, hour or once
c.yaml:14:57: services[1].plans[0].price.vat: is unknown here; known are amount, currency, per
c.yaml:15:19: services[1].plans[0].deadline: must be a duration above zero, such as 90s, 10m or 1h30m
c.yaml:16:23: services[1].plans[0].confirm_cost: must be true or false
c.yaml:17:19: services[1].plans[0].settings: size: too bad
c.yaml:17:19: services[1].plans[0].settings: shape: too bad
c.yaml:20:29: services[1].plans[0].parameters.properties.region.type: must be one of "array", "boolean", "integer", "null", "number", "object", "string" or must be of type array
c.yaml:20:38: services[1].plans[0].parameters.properties.region.colour: is not a keyword of JSON Schema; own ones start with x-
c.yaml:21:22: services[1].plans[0].parameters.required[0]: is required without a default, so it must be possible to ask for it: type must be string, number, integer, boolean or array
c.yaml:21:30: services[1].plans[0].parameters.required[1]: must be one of the properties
c.yaml:22:15: services[1].plans[1].id: is the same as on line 11
c.yaml:23:11: services[2].id: is the same as on line 7
c.yaml:23:50: services[2].plans: must be a list of at least one item`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(errorText(err), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	for _, tt := range []struct{ name, yaml, want string }{
		{"nothing", "", "c.yaml:1:1: is not YAML: no documents in stream"},
		{"a comment only", "# nothing\n", "c.yaml:1:1: is not YAML: no documents in stream"},
		{"no services", "services: []\n", "c.yaml:1:11: services: must be a list of at least one item"},
		{"null services", "services:\n", "c.yaml:1:1: services is required"},
		{"no mapping", "- 1\n", "c.yaml:1:1: must be a mapping"},
		{"other field", "services: [1]\nextra: 1\n", "c.yaml:1:12: services[0]: must be a mapping\nc.yaml:2:1: extra: is unknown here; known are services"},
		{"too large", strings.Repeat("#", 4<<20) + "\n", "c.yaml:1:1: must not be over 4 MiB"},
		{"syntax", "services:\n  - id: [a\n", "c.yaml:3:1: is not YAML: while parsing a flow sequence: did not find expected ',' or ']'"},
		{"two documents", "a: 1\n---\nb: 1\n", ""},
		{"too deep", "services: " + deep + "\n", ""},
		{"far too deep", "services: " + strings.Repeat("[", 200_000) + "\n", ""},
		{"an anchor in itself", "services: &a [*a]\n", "c.yaml:1:15: services[0]: must not use an alias within its own anchor\nc.yaml:1:15: services[0]: must be a mapping"},
		{"an alias of nothing", "services: *a\n", ""},
		{"a tag", "services: !!binary aGk=\n", "c.yaml:1:1: services is required\nc.yaml:1:11: services: must not have a YAML tag"},
		{"odd merge", "services: [{<<: 3}]\n", "c.yaml:1:12: services[0]: id is required\nc.yaml:1:12: services[0]: name is required\n" +
			"c.yaml:1:12: services[0]: driver is required\nc.yaml:1:12: services[0]: plans is required\n" +
			"c.yaml:1:17: services[0].<<: must be a mapping to merge"},
		{"odd merge list", "services: [{<<: [{}, 3]}]\n", ""},
		{"a merge of itself", "services: [&a {<<: *a}]\n", ""},
		{"an empty key", "services:\n- :\n", ""},
		{"odd key", "services:\n- ? [a]\n  : b\n", ""},
		{"odd price", onePlan("price: 5"), ""},
		{"odd settings", onePlan("settings: [1]"), "c.yaml:8:19: services[0].plans[0].settings: must be a mapping"},
		{"NUL", "services: \"a\\0b\"\n", "c.yaml:1:11: services: must not contain the NUL character\nc.yaml:1:11: services: must be a list of at least one item"},
		{"infinite", "services: .inf\n", ""},
		{"no UTF-8", "services: \"\xff\"\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := catalog.Load("c.yaml", []byte(tt.yaml), environment(), testDrivers)
			got := errorText(err)
			if err == nil || tt.want != "" && got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			for line := range strings.SplitSeq(got, "\n") {
				if !strings.HasPrefix(line, "c.yaml:") {
					t.Errorf("%q does not tell where", line)
				}
			}
		})
	}
}

// TestLoadBomb: aliases of aliases cannot make a small file huge.
func TestLoadBomb(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("services:\n  - &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		alias := "*a" + string(rune('0'+i)) + " "
		if i > 9 {
			alias = "*b" + string(rune('0'+i-10)) + " "
		}
		name := "a" + string(rune('1'+i))
		if i > 8 {
			name = "b" + string(rune('0'+i-9))
		}
		b.WriteString("  - &" + name + " [" + strings.Repeat(alias+", ", 9) + alias + "]\n")
	}
	_, err := catalog.Load("c.yaml", []byte(b.String()), environment(), testDrivers)
	if !strings.Contains(errorText(err), "the file has more than 1000000 values") {
		t.Errorf("got %.300s", errorText(err))
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
