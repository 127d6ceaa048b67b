package mcpfacade

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio serves the same tools to one host over a pair of streams, one JSON-RPC message a line, and
// calls the API with key. The parts of cfg that are about HTTP are not used. It returns nil when in
// ends and what was read of it is answered, or when ctx is done; a read of in that is under way then is
// not waited for.
func ServeStdio(ctx context.Context, cfg Config, key string, in io.Reader, out io.Writer) error {
	if key == "" {
		return errors.New("mcpfacade: a key must be given: over stdio there is no header to bring one")
	}
	f, err := newFacade(cfg, key)
	if err != nil {
		return err
	}
	o, err := f.newOffer(serverOptions(), cfg.Version, cfg.ReadOnly)
	if err != nil {
		return err
	}
	lines := &lockedWriter{w: out}
	streams := &mcp.IOTransport{Reader: io.NopCloser(newSieve(in, lines)), Writer: keptOpen{lines}, MaxLineLength: maxBody + 1}
	err = o.server.Run(ctx, &lastAnswers{Transport: streams, most: f.maxWait + callTime})
	if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("mcpfacade: stdio: %w", err)
	}
	return nil
}

// keptOpen is a writer that the SDK cannot close: it is the caller's.
type keptOpen struct{ io.Writer }

// Close implements [io.Closer].
func (keptOpen) Close() error { return nil }
