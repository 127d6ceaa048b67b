//go:build interop

package e2e_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

// conformanceCatalog is a catalog with a plan for each behavior that the suite wants to see.
//
//go:embed conformance/catalog.yaml
var conformanceCatalog string

// TestInteropConformance runs the protocol's own conformance suite against two replicas behind nginx, for
// each revision whose scenarios the suite has frozen. What is expected to fail, and why, is in
// conformance/REVISION.yaml.
func TestInteropConformance(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{catalogText: conformanceCatalog})
	balancer := startNginx(t, c.apis[0].address, c.apis[1].address)
	front := newConformanceFront(t, c, balancer.url)
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) { runConformance(t, front.URL+"/mcp", revision) })
	}
	balancer.mustHaveUsed(t, c.apis[0].address, c.apis[1].address)
}

// runConformance fails for a finding of the suite that is not expected, and for one that is and is not made.
func runConformance(t *testing.T, server, revision string) {
	t.Helper()
	const suite = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
	results, expected := artifacts(t), filepath.Join("conformance", revision+".yaml")
	// Not by --scenario: that passes over the scenarios of the tasks extension and ends well.
	out := runNode(t, nil, suite, "server", "--url", server, "--requirements", revision,
		"--expected-failures", filepath.Join("..", expected), "-o", results)
	if err := os.WriteFile(filepath.Join(results, "summary.txt"), []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	ran, err := filepath.Glob(filepath.Join(results, "server-*", "checks.json"))
	if err != nil || len(ran) == 0 || !strings.Contains(out, fmt.Sprintf("(%d scenarios)", len(ran))) {
		t.Fatalf("%d scenarios have results (%v):\n%s", len(ran), err, out)
	}
	// The suite itself does not fail for a scenario that a revision does not score, such as those of the
	// tasks extension.
	if diff := cmp.Diff(readExpected(t, expected), readFindings(t, ran)); diff != "" {
		t.Errorf("findings (-expected +got), see %s:\n%s", results, diff)
	}
}

// readExpected reads a file of findings in the suite's own form, sorted.
func readExpected(t *testing.T, file string) []string {
	t.Helper()
	var expected struct{ Server []string }
	content, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Load(content, &expected)
	}
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(expected.Server)
	return expected.Server
}

// readFindings reads from the suite's results what it finds fault with, as scenario:check, sorted.
func readFindings(t *testing.T, results []string) []string {
	t.Helper()
	var findings []string
	for _, file := range results {
		var checks []struct{ ID, Status string }
		content, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(content, &checks)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, check := range checks {
			if check.Status == "FAILURE" || check.Status == "WARNING" {
				findings = append(findings, scenarioOf(file)+":"+check.ID)
			}
		}
	}
	slices.Sort(findings)
	return slices.Compact(findings)
}

// scenarioOf is the name within that of the folder, server-SCENARIO-TIME.
func scenarioOf(file string) string {
	name := strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "server-")
	return name[:max(0, len(name)-len("-2006-01-02T15-04-05-000Z"))]
}

// newConformanceFront stands between the suite and the balancer: it adds the key, which the suite does not
// have, and translates its tools. Host stays, so that the suite's check of it is one of the server's.
func newConformanceFront(t *testing.T, c *cluster, balancer string) *httptest.Server {
	t.Helper()
	target, err := url.Parse(balancer)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+c.agent)
	}}
	translator := newTranslator(c.startRounds(t))
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// It reads the whole body, without which the proxy would at times cut off an answer: golang/go#40747.
		if err := translator.translate(r); err != nil {
			t.Errorf("translate a request of the suite: %v", err)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front
}

// mustHaveUsed checks that each upstream has served.
func (n *nginx) mustHaveUsed(t *testing.T, upstreams ...string) {
	t.Helper()
	log, err := os.ReadFile(n.log)
	if err != nil {
		t.Fatal(err)
	}
	for _, upstream := range upstreams {
		if !strings.Contains(string(log), " "+upstream+"\n") {
			t.Errorf("nginx never chose %s:\n%s", upstream, log)
		}
	}
}
