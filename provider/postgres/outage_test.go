package postgres

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/provisiond/provisiond/provider"
)

// operations are those of the driver.
var operations = map[string]func(context.Context, *driver, *provider.Request) error{
	"Provision": func(ctx context.Context, d *driver, r *provider.Request) error {
		_, err := d.Provision(ctx, r)
		return err
	},
	"Bind": func(ctx context.Context, d *driver, r *provider.Request) error {
		_, err := d.Bind(ctx, r)
		return err
	},
	"Update": func(ctx context.Context, d *driver, r *provider.Request) error {
		_, err := d.Update(ctx, changeTo(r, map[string]any{"connection_limit": 7, "extensions": []any{"citext", "hstore"}}))
		return err
	},
	"Check": func(ctx context.Context, d *driver, r *provider.Request) error {
		_, err := d.Check(ctx, r)
		return err
	},
	"Find": func(ctx context.Context, d *driver, r *provider.Request) error {
		_, err := d.Find(ctx, r)
		return err
	},
	"List": func(ctx context.Context, d *driver, _ *provider.Request) error {
		_, err := d.List(ctx)
		return err
	},
	"Unbind": func(ctx context.Context, d *driver, r *provider.Request) error { return d.Unbind(ctx, r) },
	"Deprovision": func(ctx context.Context, d *driver, r *provider.Request) error {
		return d.Deprovision(ctx, r)
	},
}

// The server stops at each message of each operation. The driver says in time that it is not available, without
// a secret, and the operation can be repeated.
func TestServerStops(t *testing.T) {
	t.Parallel()
	for how, fault := range map[string]fault{"closes": closes, "loses an answer": loses, "hangs": hangs} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			eachMessage(t, fault, time.Hour, checkAgain)
		})
	}
}

// A job that ends while the server hangs gets its own end.
func TestContextEndsWhileTheServerHangs(t *testing.T) {
	t.Parallel()
	eachMessage(t, hangs, time.Second, func(t *testing.T, err error, _ string) {
		t.Helper()
		if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*provider.Error)) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
	})
}

// eachMessage lets the server stop at the first message of each operation, at the second, and so on until the
// operation is done before. It checks the errors that come of it.
func eachMessage(t *testing.T, f fault, patience time.Duration, check func(t *testing.T, err error, password string)) {
	t.Helper()
	for name, do := range operations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := superuser(t)
			adminURL := newAdmin(t, pool, "CREATEDB CREATEROLE")
			d := newDriver(t, adminURL)
			r := newRequest(wide, map[string]any{"connection_limit": 5, "extensions": []any{"citext"}})
			t.Cleanup(func() { deprovision(t, d, r) })
			if name != "Provision" {
				provision(t, d, r)
				bind(t, d, r)
			}
			const most = 200
			for at := 1; at <= most; at++ {
				l := &line{fault: f, at: at}
				err := l.try(t, patience, func(ctx context.Context) error { return do(ctx, l.over(d), r) })
				switch {
				case errors.Is(err, provider.ErrConflict): // with the server's autovacuum, before the server stopped
				case l.stopped && err != nil:
					check(t, err, passwordOf(t, adminURL))
				case !l.stopped && err == nil:
					return
				}
				eventually(t, "the server is done with what the driver has sent", func() bool {
					return !query[bool](t, pool, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE usename = $1)`,
						d.(*driver).admin.User)
				})
			}
			t.Errorf("not done after %d messages", most)
		})
	}
}

// The server that users reach stops, and not the administrator's way to it.
func TestPublicAddressStops(t *testing.T) {
	t.Parallel()
	for how, serve := range map[string]func(net.Listener){
		"refuses": func(l net.Listener) { _ = l.Close() },
		"closes": func(l net.Listener) {
			for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
				_ = conn.Close()
			}
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			d, r, listener := publicAt(t)
			go serve(listener)
			_, err := d.Bind(t.Context(), r)
			checkAgain(t, err, d.admin.Password)
		})
	}
	t.Run("hangs", func(t *testing.T) {
		t.Parallel()
		d, r, listener := publicAt(t)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			if conn, err := listener.Accept(); err == nil {
				t.Cleanup(func() { _ = conn.Close() })
			}
		}()
		if _, err := d.Bind(ctx, r); !errors.Is(err, context.Canceled) || errors.As(err, new(*provider.Error)) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	})
}

// publicAt is a driver whose users reach the server at the listener, with an instance.
func publicAt(t *testing.T) (*driver, *provider.Request, net.Listener) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	d := newDriver(t, newAdmin(t, superuser(t), "CREATEDB CREATEROLE")).(*driver)
	r := newRequest(`{}`, nil)
	provision(t, d, r)
	d.host, d.port = "127.0.0.1", uint16(listener.Addr().(*net.TCPAddr).Port)
	return d, r, listener
}

// checkAgain checks that the error can be tried again and holds no secret.
func checkAgain(t *testing.T, err error, secret string) {
	t.Helper()
	failure, ok := errors.AsType[*provider.Error](err)
	if !ok || failure.Code != provider.ErrUnavailable || !failure.Retryable || failure.Message == "" {
		t.Errorf("got %v, want a retryable %s", err, provider.ErrUnavailable)
	}
	if strings.Contains(err.Error(), secret) {
		t.Error("the error holds the administrator's password")
	}
}
