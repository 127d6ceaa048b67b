package e2e_test

import (
	"context"
	"strings"
	"sync"
)

// output keeps what a process prints. It is safe for concurrent use.
type output struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{} // closed and made anew with every write
}

func newOutput() *output { return &output{changed: make(chan struct{})} }

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.text.Write(p)
}

func (o *output) String() string {
	text, _ := o.read()
	return text
}

func (o *output) read() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String(), o.changed
}

// line waits for a whole line with all the words and returns it; "" when ctx is done before.
func (o *output) line(ctx context.Context, words ...string) string {
	for {
		text, changed := o.read()
		whole := text[:strings.LastIndexByte(text, '\n')+1]
		for line := range strings.Lines(whole) {
			if containsAll(line, words) {
				return line
			}
		}
		select {
		case <-ctx.Done():
			return ""
		case <-changed:
		}
	}
}

func containsAll(line string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(line, word) {
			return false
		}
	}
	return true
}
