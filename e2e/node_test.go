//go:build interop

package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// The tests behind the build tag interop run clients that are not written in Go: Node.js programs of
// e2e/node, nginx, Chromium. `make interop` installs the former and says what is missing.

const nodeDir = "node"

// nodePatience is far more than any script needs: it is for those that hang.
const nodePatience = 3 * time.Minute

// runNode runs a script of e2e/node to its end with these variables on top of the environment, and
// returns what it prints. It fails the test where the script fails or does not end.
func runNode(t *testing.T, env []string, script string, args ...string) string {
	t.Helper()
	out, err := nodeCommand(t, env, script, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("node %s: %v\n%s", script, err, out)
	}
	return string(out)
}

// nodeCommand is the pinned Node.js with a script, which may be one in node_modules.
func nodeCommand(t *testing.T, env []string, script string, args ...string) *exec.Cmd {
	t.Helper()
	node, err := filepath.Abs(filepath.Join(nodeDir, "node_modules", "node", "bin", "node"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(node); err != nil {
		t.Fatalf("run the test by `make interop`, which installs Node.js: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), nodePatience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, node, slices.Insert(args, 0, script)...)
	cmd.Dir = nodeDir
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// artifacts is a folder for what a person may want to look at after a test, such as screenshots.
func artifacts(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("artifacts", t.Name()))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
