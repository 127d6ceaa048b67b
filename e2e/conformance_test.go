//go:build interop

package e2e_test

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

// The protocol's own conformance suite runs against two replicas behind nginx, for each revision whose
// scenarios the suite has frozen: against the product, for what needs no tool of the suite's own, and in
// full against a fixture that has these tools too.
var conformanceRevisions = []string{"2025-11-25", "2026-07-28"}

// findings are what the suite finds fault with, as scenario:check, sorted, by scenario.
type findings map[string][]string

// TestInteropConformance takes the fixture. What it is expected to fail, and why, is in
// conformance/REVISION.yaml.
func TestInteropConformance(t *testing.T) {
	t.Parallel()
	front := startFixture(t)
	for _, revision := range conformanceRevisions {
		t.Run(revision, func(t *testing.T) {
			var expected struct{ Server []string }
			readYAML(t, filepath.Join("conformance", revision+".yaml"), &expected)
			got := runConformance(t, front.url+"/mcp", revision)
			mustBeFound(t, expected.Server, got, slices.Collect(maps.Keys(got)))
		})
	}
	front.mustHaveUsedAll(t)
}

// TestInteropConformanceOfTheProduct takes provisiond itself, and looks at the scenarios that
// conformance/product.yaml chooses.
func TestInteropConformanceOfTheProduct(t *testing.T) {
	t.Parallel()
	var product map[string]struct{ Scenarios, Findings []string }
	readYAML(t, filepath.Join("conformance", "product.yaml"), &product)
	c := newCluster(t, options{workers: 1})
	front := newFront(t, c.agent, c.apis[0].address, c.apis[1].address)
	for _, revision := range conformanceRevisions {
		t.Run(revision, func(t *testing.T) {
			got := runConformance(t, front.url+"/mcp", revision)
			mustBeFound(t, product[revision].Findings, got, product[revision].Scenarios)
		})
	}
	front.mustHaveUsedAll(t)
}

// mustBeFound fails for a finding in the scenarios that is not expected, and for one that is and is not made.
func mustBeFound(t *testing.T, expected []string, got findings, scenarios []string) {
	t.Helper()
	if len(scenarios) == 0 {
		t.Error("no scenarios")
	}
	found := []string{}
	for _, scenario := range scenarios {
		checks, ran := got[scenario]
		if !ran {
			t.Errorf("the suite has not run %s", scenario)
		}
		found = append(found, checks...)
	}
	expected = append([]string{}, expected...)
	slices.Sort(expected)
	slices.Sort(found)
	if diff := cmp.Diff(expected, found); diff != "" {
		t.Errorf("findings (-expected +got):\n%s", diff)
	}
}

// runConformance runs all scenarios of a revision. Its results stay in the test's artifacts.
func runConformance(t *testing.T, server, revision string) findings {
	t.Helper()
	const suite = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
	results := artifacts(t)
	// Not by --scenario: that passes over the scenarios of the tasks extension and ends well.
	out, err := nodeCommand(t, nil, suite, "server", "--url", server, "--requirements", revision, "-o", results).CombinedOutput()
	if _, found := errors.AsType[*exec.ExitError](err); err != nil && !found { // It fails for what it finds.
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(results, "summary.txt"), out, 0o600); err != nil {
		t.Fatal(err)
	}
	ran, err := filepath.Glob(filepath.Join(results, "server-*", "checks.json"))
	if err != nil || len(ran) == 0 || !strings.Contains(string(out), fmt.Sprintf("(%d scenarios)", len(ran))) {
		t.Fatalf("%d scenarios have results (%v):\n%s", len(ran), err, out)
	}
	got := findings{}
	for _, file := range ran {
		scenario := scenarioOf(file)
		got[scenario] = readFindings(t, file, scenario)
	}
	return got
}

// scenarioOf is the name within that of the folder, server-SCENARIO-TIME.
func scenarioOf(file string) string {
	name := strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "server-")
	return name[:max(0, len(name)-len("-2006-01-02T15-04-05-000Z"))]
}

// readFindings reads the results of one scenario.
func readFindings(t *testing.T, file, scenario string) []string {
	t.Helper()
	var checks []struct{ ID, Status string }
	content, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(content, &checks)
	}
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, check := range checks {
		if check.Status == "FAILURE" || check.Status == "WARNING" {
			found = append(found, scenario+":"+check.ID)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func readYAML(t *testing.T, file string, to any) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Load(content, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}
