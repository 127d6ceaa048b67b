package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// balancer sends each request to the next replica, as the simplest of real ones do. One that refuses
// the connection is passed over (nginx: proxy_next_upstream error), and so is one whose health check
// said that it is not ready, once watch runs. It records which replica served what.
type balancer struct {
	*httptest.Server
	transport http.Transport

	mu       sync.Mutex
	backends []*replica
	next     int
	record   []served
	fault    func(*http.Request) fault
}

// served is one request as the balancer saw it.
type served struct {
	request string // method and path
	key     string // Idempotency-Key
	replica int    // -1 where it was sent to none
	status  int    // 0 where there was no answer
}

// fault is what the balancer does to a request instead of serving it well.
type fault struct {
	status int  // answers with this status, without asking a replica
	reset  bool // breaks the connection, without asking a replica
	drop   bool // lets a replica do it, and breaks the connection instead of handing on the answer
}

func newBalancer(t *testing.T) *balancer {
	t.Helper()
	b := &balancer{transport: http.Transport{DisableKeepAlives: true, DisableCompression: true}}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetXForwarded(); r.Out.Host = r.In.Host },
		Transport: roundTripper(b.send),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A body is read whole first: it may have to be sent to a second replica, and an answer before
		// the body's end would otherwise cut the proxy off.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, body))
		switch f := b.faultFor(r); {
		case f.status != 0:
			b.note(r, -1, f.status)
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(f.status)
		case f.reset:
			b.note(r, -1, 0)
			panic(http.ErrAbortHandler)
		case f.drop:
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(b.Close)
	return b
}

type bodyKey struct{}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// send tries one replica after the other, beginning with the one whose turn it is.
func (b *balancer) send(r *http.Request) (*http.Response, error) {
	body, _ := r.Context().Value(bodyKey{}).([]byte)
	var refused error
	for range b.count() {
		i, address := b.turn()
		out := r.Clone(r.Context())
		out.URL.Scheme, out.URL.Host = "http", address
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		resp, err := b.transport.RoundTrip(out)
		if err == nil {
			b.note(r, i, resp.StatusCode)
			return resp, nil
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			b.note(r, i, 0)
			return nil, err
		}
		refused = err
	}
	b.note(r, -1, http.StatusBadGateway)
	return nil, refused
}

// turn picks the next replica that is not known to be unready.
func (b *balancer) turn() (int, string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.backends {
		i := b.next
		b.next = (i + 1) % len(b.backends)
		if !b.backends[i].unready {
			return i, b.backends[i].address
		}
	}
	return b.next, b.backends[b.next].address
}

// add puts a replica into rotation. Its address and unready are the balancer's from then on.
func (b *balancer) add(r *replica) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.backends = append(b.backends, r)
}

func (b *balancer) setAddress(r *replica, address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.address = address
}

func (b *balancer) addressOf(r *replica) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return r.address
}

func (b *balancer) isUnready(r *replica) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return r.unready
}

func (b *balancer) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.backends)
}

func (b *balancer) note(r *http.Request, replica, status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.record = append(b.record, served{
		request: r.Method + " " + r.URL.Path, key: r.Header.Get("Idempotency-Key"), replica: replica, status: status,
	})
}

// served returns what was served since the last call.
func (b *balancer) served() []served {
	b.mu.Lock()
	defer b.mu.Unlock()
	record := b.record
	b.record = nil
	return record
}

// misbehave lets the balancer do to each request what choose says; nil ends that.
func (b *balancer) misbehave(choose func(*http.Request) fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault = choose
}

func (b *balancer) faultFor(r *http.Request) fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fault == nil {
		return fault{}
	}
	return b.fault(r)
}

// watch checks the replicas' health until the test ends, as a balancer's target group does.
func (b *balancer) watch(t *testing.T) {
	t.Helper()
	const interval = 50 * time.Millisecond
	go func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-t.Context().Done():
				return
			case <-ticker.C:
			}
			for i := range b.count() {
				b.check(t.Context(), i)
			}
		}
	}()
}

func (b *balancer) check(ctx context.Context, i int) {
	b.mu.Lock()
	r := b.backends[i]
	address := r.address
	b.mu.Unlock()
	ready := isReady(ctx, address)
	b.mu.Lock()
	defer b.mu.Unlock()
	r.unready = !ready
}

// isReady asks a replica for its readiness.
func isReady(ctx context.Context, address string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/health/ready", http.NoBody)
	if err != nil {
		return false
	}
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// mustAlternate fails the test unless every request went to another replica than the one before.
func mustAlternate(t *testing.T, record []served) {
	t.Helper()
	var lines []string
	alternates := len(record) > 1
	for i, s := range record {
		lines = append(lines, s.request+" → "+string(rune('A'+s.replica)))
		alternates = alternates && (i == 0 || s.replica != record[i-1].replica)
	}
	if !alternates {
		t.Errorf("two requests in a row went to the same replica:\n%s", strings.Join(lines, "\n"))
	}
}
