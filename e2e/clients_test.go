//go:build interop

package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/provisiond/provisiond/jobs/catalog"
)

// TestInteropClients lets real MCP clients each live a whole life: start, question, answer, use, end.
// That a person confirms the end is for the other tests to show.
func TestInteropClients(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{catalogText: strings.ReplaceAll(string(catalog.Builtin()),
		"- id: small\n", "- id: small\n        confirm_destroy: false\n")})
	for name, script := range map[string][]string{
		"SDK 1":                      {"sdk-1.mjs"},
		"SDK 2":                      {"sdk-2.mjs", "legacy"},
		"SDK 2 with forms":           {"sdk-2.mjs", "auto"},
		"tasks":                      {"tasks.mjs"},
		"forms that the host drops":  {"dropped.mjs"},
		"secret for a form":          {"secret.mjs", "form"},
		"secret for a form and page": {"secret.mjs", "form", "url"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := c.anotherBalancer(t)
			out := runNode(t, []string{"MCP_URL=" + b.URL + "/mcp", "MCP_KEY=" + c.agent}, script[0], script[1:]...)
			var lived struct {
				Service    string
				InstanceID string `json:"instance_id"`
			}
			if err := json.Unmarshal([]byte(out), &lived); err != nil || lived.InstanceID == "" {
				t.Fatalf("%s printed (%v): %s", script, err, out)
			}
			mustUseAll(t, c, b.served())
			c.mustHaveNone(t, lived.Service, lived.InstanceID)
		})
	}
	t.Run("Inspector", func(t *testing.T) {
		t.Parallel()
		b := c.anotherBalancer(t)
		a := newInspector(t, c, b.URL+"/mcp")
		a.listTools(t)
		instanceID := liveThroughMCP(t, c, a, func() {})
		mustUseAll(t, c, b.served())
		c.mustHaveNone(t, "postgres", instanceID)
	})
}

// mustUseAll fails the test unless each API replica has served one of the requests. A client's requests
// may cross each other, so that they cannot be asked to alternate.
func mustUseAll(t *testing.T, c *cluster, record []served) {
	t.Helper()
	for i, r := range c.apis {
		if !slices.ContainsFunc(record, func(s served) bool { return s.replica == i && s.status < 300 }) {
			t.Errorf("%s served nothing: %v", r.name, record)
		}
	}
}

// inspector is the command line of the MCP Inspector: a process and a connection for each call.
type inspector struct {
	config string // file
	env    []string
}

func newInspector(t *testing.T, c *cluster, url string) *inspector {
	t.Helper()
	dir := t.TempDir()
	config, err := json.Marshal(object{"mcpServers": object{"provisiond": object{
		"type": "streamable-http", "url": url, "headers": object{"Authorization": "Bearer " + c.agent},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	a := &inspector{config: filepath.Join(dir, "mcp.json"), env: []string{
		"HOME=" + dir,
		// Otherwise it warns of how it keeps secrets, where there is no keychain.
		"MCP_INSPECTOR_SECRET_STORE=file", "MCP_INSPECTOR_SECRET_KEY=of this test",
	}}
	if err := os.WriteFile(a.config, config, 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// run returns what the Inspector prints to standard output, and to standard error.
func (a *inspector) run(t *testing.T, args ...string) (stdout []byte, stderr string) {
	t.Helper()
	const program = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
	args = append([]string{"--cli", "--config", a.config, "--server", "provisiond"}, args...)
	cmd := nodeCommand(t, a.env, program, args...)
	var errors strings.Builder
	cmd.Stderr = &errors
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("inspector %v: %v\n%s%s", args[4:], err, stdout, errors.String())
	}
	return stdout, errors.String()
}

// listTools fails the test for any warning. Those about a tool's schema go to standard error.
func (a *inspector) listTools(t *testing.T) {
	t.Helper()
	stdout, warnings := a.run(t, "--method", "tools/list", "--strict")
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(stdout, &list); err != nil || len(list.Tools) == 0 {
		t.Errorf("tools/list (%v): %s", err, stdout)
	}
	if warnings != "" {
		t.Errorf("tools/list warns: %s", warnings)
	}
}

func (a *inspector) call(t *testing.T, tool string, arguments object) (json.RawMessage, bool) {
	t.Helper()
	args := []string{"--method", "tools/call", "--tool-name", tool}
	for name, value := range arguments {
		text, isText := value.(string)
		if !isText {
			encoded, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			text = string(encoded)
		}
		args = append(args, "--tool-arg", name+"="+text)
	}
	stdout, _ := a.run(t, args...)
	var result struct {
		StructuredContent json.RawMessage
		IsError           bool
	}
	if err := json.Unmarshal(stdout, &result); err != nil || result.IsError {
		return stdout, false
	}
	return result.StructuredContent, true
}
