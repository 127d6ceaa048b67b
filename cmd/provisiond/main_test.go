package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// result is what a run left behind.
type result struct {
	code           int
	stdout, stderr string
}

// runCommand runs provisiond in this process with these variables and no others.
func runCommand(t *testing.T, vars map[string]string, args ...string) result {
	t.Helper()
	var stdout, stderr buffer
	code := run(t.Context(), args, lookupIn(vars), strings.NewReader(""), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

func lookupIn(vars map[string]string) lookup {
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

// must fails the test unless the command was done.
func (r result) must(t *testing.T) result {
	t.Helper()
	if r.code != exitDone {
		t.Fatalf("exit code %d: %s", r.code, r.stderr)
	}
	return r
}

// expect fails the test unless the command ended like that. The lines are those of standard error.
func (r result) expect(t *testing.T, code int, lines ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code is %d, want %d", r.code, code)
	}
	got := strings.Split(strings.TrimSpace(r.stderr), "\n")
	if diff := cmp.Diff(lines, got); diff != "" {
		t.Errorf("standard error (-want +got):\n%s", diff)
	}
}

// buffer may be read and awaited while it is written to.
type buffer struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed by the next write
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
	return b.text.Write(p)
}

func (b *buffer) String() string {
	text, _ := b.read()
	return text
}

func (b *buffer) read() (string, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.text.String(), b.changed
}

// writeFile makes a file that is the test's own.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// started is a provisiond that runs in this process until the test ends or stops it.
type started struct {
	stdout, stderr buffer
	stop           context.CancelFunc
	done           chan int
}

// start runs provisiond; its context stands for the signal.
func start(t *testing.T, vars map[string]string, args ...string) *started {
	t.Helper()
	return startWith(t, strings.NewReader(""), vars, args...)
}

// startWith is start with something on standard input.
func startWith(t *testing.T, stdin io.Reader, vars map[string]string, args ...string) *started {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	s := &started{stop: stop, done: make(chan int, 1)}
	go func() { s.done <- run(ctx, args, lookupIn(vars), stdin, &s.stdout, &s.stderr) }()
	t.Cleanup(func() { s.end() })
	return s
}

// await returns what was written to one of its outputs once the text is in it.
func (s *started) await(t *testing.T, output *buffer, text string) string {
	t.Helper()
	for {
		written, changed := output.read()
		if strings.Contains(written, text) {
			return written
		}
		select {
		case <-changed:
		case code := <-s.done:
			s.done <- code
			t.Fatalf("it ended with %d before it wrote %q: %s", code, text, s.stderr.String())
		}
	}
}

// end stops it and returns its exit code.
func (s *started) end() int {
	s.stop()
	code := <-s.done
	s.done <- code
	return code
}
