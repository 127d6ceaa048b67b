// Package e2e tests provisiond as it is deployed: real processes of the real binary on a real
// PostgreSQL, two API replicas and two workers behind a balancer that sends every request to the next
// replica. The tests kill, stop and restart what they like.
//
// The short form runs with all other tests. E2E_LONG=1 repeats what depends on luck much more often.
package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// binary is the provisiond under test.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "provisiond-e2e-")
	if err != nil {
		return failed(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	// A test runs it as another user too.
	if err := os.Chmod(dir, 0o755); err != nil {
		return failed(err)
	}
	binary = filepath.Join(dir, "provisiond")
	args := []string{"build", "-o", binary}
	if raceDetector {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "../cmd/provisiond")...).CombinedOutput()
	if err != nil {
		return failed(fmt.Errorf("build provisiond: %w\n%s", err, out))
	}
	return m.Run()
}

func failed(err error) int {
	_, _ = fmt.Fprintln(os.Stderr, err)
	return 1
}

// rounds is how often a test repeats what depends on luck.
func rounds(short, long int) int {
	if os.Getenv("E2E_LONG") != "" {
		return long
	}
	return short
}

// canary is a secret that must not be found anywhere.
const canary = "canary-Zk3vQ9xW7pLm"

// patience bounds what a test waits for. It only has to beat the limit of go test, so that a failure
// tells what was awaited.
const patience = time.Minute

// patient is a context that ends with the test or its patience.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// eventually polls for what no event tells of.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	const pause = 5 * time.Millisecond
	for end := time.Now().Add(patience); !done(); time.Sleep(pause) {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// command runs provisiond to its end and returns what it prints.
func command(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(patient(t), binary, args...)
	cmd.Env = env
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
		t.Fatalf("provisiond %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}
