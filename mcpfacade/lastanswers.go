package mcpfacade

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lastAnswers is a transport whose end of input waits for the answers to what was read before it. The
// SDK takes the end for the host's death and cancels the calls under way, but a host, or a pipe in a
// shell, may close its end as soon as it has said all.
type lastAnswers struct {
	mcp.Transport
	// most bounds the wait.
	most time.Duration
}

// Connect implements [mcp.Transport].
func (t *lastAnswers) Connect(ctx context.Context) (mcp.Connection, error) {
	inner, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &countingConn{
		Connection: inner, most: t.most,
		open: map[jsonrpc.ID]bool{}, answered: make(chan struct{}, 1), closed: make(chan struct{}),
	}, nil
}

// countingConn knows which calls are not answered yet.
type countingConn struct {
	mcp.Connection
	most time.Duration

	mu   sync.Mutex
	open map[jsonrpc.ID]bool
	// answered holds a token after an answer was written.
	answered chan struct{}

	close  sync.Once
	closed chan struct{}
}

// Read implements [mcp.Connection].
func (c *countingConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if err != nil {
		c.await(ctx)
		return nil, err
	}
	if call, ok := msg.(*jsonrpc.Request); ok && call.IsCall() {
		c.mu.Lock()
		c.open[call.ID] = true
		c.mu.Unlock()
	}
	return msg, nil
}

// Write implements [mcp.Connection].
func (c *countingConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := c.Connection.Write(ctx, msg)
	if answer, ok := msg.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.open, answer.ID)
		c.mu.Unlock()
		select {
		case c.answered <- struct{}{}:
		default: // The token is there already.
		}
	}
	return err
}

// Close implements [mcp.Connection].
func (c *countingConn) Close() error {
	c.close.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

// await returns when all calls are answered, or it makes no more sense to wait for that.
func (c *countingConn) await(ctx context.Context) {
	tooLong := time.NewTimer(c.most)
	defer tooLong.Stop()
	for c.isOpen() {
		select {
		case <-c.answered:
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		case <-tooLong.C:
			return
		}
	}
}

func (c *countingConn) isOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) > 0
}
