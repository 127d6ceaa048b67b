package postgres

import (
	"context"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provisiond/provisiond/provider"
)

// A fault is how a server stops. Each comes at a message of the client's, and stays.
type fault int

const (
	// closes: the message is lost, connections are closed, and new ones refused.
	closes fault = iota
	// loses: the same, but the server has got the message. Its answer is lost.
	loses
	// hangs: the message is lost, and connections stay open, new ones too, without an answer.
	hangs
)

// A line leads to the real server until that stops.
type line struct {
	fault fault
	// at is the message to stop at, counted over all connections.
	at int

	mu      sync.Mutex
	sent    int
	stopped bool
	// clients are the ends of connections that the driver has the others of; servers are the real ones.
	clients, servers []io.Closer
	closed           bool
}

// dial is for pgx. The driver's end is in memory: time in a bubble passes while it waits there.
func (l *line) dial(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.stopped && l.fault != hangs {
		return nil, syscall.ECONNREFUSED
	}
	client, far := net.Pipe()
	l.clients = append(l.clients, far)
	if l.stopped {
		go io.Copy(io.Discard, far) //nolint:errcheck // it ends when the line does
		return client, nil
	}
	server, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l.servers = append(l.servers, server)
	go l.ask(far, server)
	go l.answer(far, server)
	return client, nil
}

// ask passes the client's messages on.
func (l *line) ask(far, server net.Conn) {
	message := make([]byte, 1<<16)
	for {
		n, err := far.Read(message)
		if err != nil {
			_ = server.Close()
			return
		}
		l.pass(message[:n], server)
	}
}

func (l *line) pass(message []byte, server net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
	stops := l.sent == l.at
	if !stops || l.fault == loses {
		_, _ = server.Write(message) // a server that is gone closes the connection
	}
	if stops {
		l.stop()
	}
}

// stop stops the server.
func (l *line) stop() {
	l.stopped = true
	closeAll(l.servers)
	if l.fault != hangs {
		closeAll(l.clients)
	}
}

// answer passes the server's messages on.
func (l *line) answer(far, server net.Conn) {
	_, _ = io.Copy(far, server)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopped {
		_ = far.Close()
	}
}

// close ends all that goes on.
func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	closeAll(append(l.clients, l.servers...))
}

func closeAll(ends []io.Closer) {
	for _, end := range ends {
		_ = end.Close()
	}
}

// over returns the driver with its administrator's connections over the line.
func (l *line) over(d provider.Driver) *driver {
	changed := *d.(*driver)
	changed.admin = changed.admin.Copy()
	changed.admin.DialFunc = l.dial
	changed.admin.TLSConfig, changed.admin.Fallbacks = nil, nil // else pgx asks for TLS first
	return &changed
}

// try makes the call in a bubble, where no time passes but while the server hangs. Then it passes at once.
func (l *line) try(t *testing.T, patience time.Duration, call func(ctx context.Context) error) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		defer l.close()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		err = call(ctx)
	})
	return err
}
