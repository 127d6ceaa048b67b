package catalog_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/provider"
)

const asking = `price: { amount: "5.00", currency: USD, per: month }
confirm_cost: true
question_expiry: 1h
parameters:
  properties:
    region: { type: string, enum: [eu, us], title: Region, description: Where the data is., examples: [eu] }
    size: { type: integer, default: 2 }
    token: { type: string, title: Token, writeOnly: true, x-answerable-by: person, x-own: 1 }
    plain: { type: boolean }
    free: { type: object, properties: {} }
  required: [token, size, region, plain]
`

func TestExpected(t *testing.T) {
	t.Parallel()
	p := loadPlan(t, asking)
	want := []provider.Question{{
		Name: "token", Message: "Token", Secret: true, PersonOnly: true, Expiry: time.Hour,
		Schema: json.RawMessage(`{"properties":{"token":{"title":"Token","type":"string"}},"required":["token"],"type":"object"}`),
	}, {
		Name: "region", Message: "Region: Where the data is.", Expiry: time.Hour,
		Schema: json.RawMessage(`{"properties":{"region":{"description":"Where the data is.","enum":["eu","us"],"title":"Region","type":"string"}},` +
			`"required":["region"],"type":"object"}`),
	}, {
		Name: "plain", Message: "Give a value for plain.", Expiry: time.Hour,
		Schema: json.RawMessage(`{"properties":{"plain":{"type":"boolean"}},"required":["plain"],"type":"object"}`),
	}, {
		Name: "confirm_cost", Message: "The plan Small of The shop costs 5.00 USD per month. Do you accept the cost?", Expiry: time.Hour,
		Schema: json.RawMessage(`{"properties":{"confirm":{"title":"Accept the cost","type":"boolean"}},"required":["confirm"],"type":"object"}`),
	}}
	text := cmp.Transformer("text", func(m json.RawMessage) string { return string(m) })
	if diff := cmp.Diff(want, p.Expected(), text); diff != "" {
		t.Error(diff)
	}
	for _, q := range want {
		if err := catalog.CheckFlatSchema(q.Schema); err != nil {
			t.Errorf("%s: %v", q.Name, err)
		}
	}
}

func TestIsSecret(t *testing.T) {
	t.Parallel()
	p := loadPlan(t, asking)
	for name, want := range map[string]bool{"token": true, "region": false, "none": false} {
		if got := p.IsSecret(name); got != want {
			t.Errorf("IsSecret(%s) = %v, want %v", name, got, want)
		}
	}
}

func TestCostQuestion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, plan, want string }{
		{"free", ``, ""},
		{"not confirmed", `price: { amount: "5", currency: EUR, per: hour }`, ""},
		{"once", "price: { amount: '5', currency: EUR, per: once }\nconfirm_cost: true",
			"The plan Small of The shop costs 5 EUR once. Do you accept the cost?"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q, ok := loadPlan(t, tt.plan).CostQuestion()
			if ok != (tt.want != "") || q.Message != tt.want {
				t.Errorf("got %q, %v, want %q", q.Message, ok, tt.want)
			}
		})
	}
	_, err := catalog.Load("c.yaml", []byte(onePlan("confirm_cost: true")), environment(), testDrivers)
	if got, want := errorText(err), "c.yaml:8:23: services[0].plans[0].confirm_cost: needs a price"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
