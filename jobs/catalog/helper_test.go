package catalog_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/provider"
)

// testDriver checks its configuration and settings as drivers do and can do nothing else.
type testDriver struct{ provider.Driver }

// CheckPlan implements provider.PlanChecker.
func (testDriver) CheckPlan(settings json.RawMessage) error {
	if strings.Contains(string(settings), "bad") {
		return errors.Join(errors.New("size: too bad"), errors.New("shape: too bad"))
	}
	return nil
}

// newTestDriver quotes its configuration in its error, as a careless driver would.
func newTestDriver(config json.RawMessage) (provider.Driver, error) {
	var c struct{ URL string }
	if err := json.Unmarshal(config, &c); err != nil {
		return nil, err
	}
	if strings.HasPrefix(c.URL, "wrong") {
		return nil, errors.New("cannot use " + c.URL)
	}
	return testDriver{}, nil
}

var testDrivers = map[string]provider.Factory{
	"postgres": newTestDriver, "sandbox": newTestDriver, "test": newTestDriver,
}

// environment is os.LookupEnv over the pairs.
func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func load(t *testing.T, yaml string, env ...string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Load("c.yaml", []byte(yaml), environment(env...), testDrivers)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// loadPlan loads a catalog of one plan from what is in the plan.
func loadPlan(t *testing.T, fields string) *catalog.Plan {
	t.Helper()
	c := load(t, onePlan(fields))
	return &c.Services[0].Plans[0]
}

// onePlan writes a catalog of one plan. The fields start on line 8, in column 9.
func onePlan(fields string) string {
	return `services:
  - id: shop
    name: The shop
    driver: test
    plans:
      - id: small
        name: Small
        ` + strings.ReplaceAll(strings.TrimSpace(fields), "\n", "\n        ") + "\n"
}
