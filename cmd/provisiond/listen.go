package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// listen opens the address that a flag gives.
func listen(ctx context.Context, flag, address string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--%s (%s): %w", flag, variable(flag), err)
	}
	return listener, nil
}

// listen opens the replica's addresses before anything else is done: a taken port is reported at once,
// and who connects early waits instead of being refused.
func (r *replica) listen(ctx context.Context) (err error) {
	if r.public, err = listen(ctx, "listen", r.Listen); err != nil {
		return err
	}
	if r.AdminListen == "" {
		return nil
	}
	if r.admin, err = listen(ctx, "admin-listen", r.AdminListen); err != nil {
		r.close()
	}
	return err
}

// close closes what listen opened. A server that was shut down has done so already.
func (r *replica) close() {
	_ = r.public.Close()
	if r.admin != nil {
		_ = r.admin.Close()
	}
}

// publicURL is where clients reach the API. Without the option it is the listener's address, or this
// host's own where that means every interface.
func (o replicaOptions) publicURL(listener net.Listener) string {
	address := listener.Addr().(*net.TCPAddr)
	if o.PublicURL == "" && address.IP.IsUnspecified() {
		address = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: address.Port}
	}
	return cmp.Or(o.PublicURL, "http://"+address.String())
}

// newServer makes the API's server. Requests end well after the longest wait, so that a slow client
// cannot hold a connection for ever and a poll is never cut off.
func newServer(handler http.Handler, maxWait time.Duration, log *slog.Logger) *http.Server {
	longest := maxWait + 30*time.Second
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		// Not shorter than the wait: when it is over, net/http also cancels a request that was read
		// whole and is being answered.
		ReadTimeout:    longest,
		WriteTimeout:   longest,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
