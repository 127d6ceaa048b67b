package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// fetchPause is the time between two fetches of a document, after fetchBurst of them at once.
	fetchPause = 5 * time.Second
	fetchBurst = 3
	// fetchTime is short: requests wait for it.
	fetchTime = 3 * time.Second
	// maxDocument bounds a document of the issuer, in bytes.
	maxDocument = 1 << 20
)

// fetcher is the HTTP transport to an issuer, for its metadata and its keys. go-oidc fetches the keys
// for each token that none of them verifies, and anyone can make such tokens up. So within the pause
// the answer is that of the last time, be it an error. Safe for concurrent use.
type fetcher struct {
	mu        sync.Mutex
	documents map[string]*document // by URL
}

// document is what the last fetch brought.
type document struct {
	mu    sync.Mutex
	limit *rate.Limiter
	body  []byte
	err   error
}

func newFetcher() *fetcher { return &fetcher{documents: map[string]*document{}} }

// RoundTrip implements [http.RoundTripper]. Its errors are of type *fetchError.
func (f *fetcher) RoundTrip(r *http.Request) (*http.Response, error) {
	d := f.document(r.URL.String())
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.limit.Allow() {
		d.body, d.err = fetch(r)
	}
	if d.err != nil {
		return nil, &fetchError{d.err}
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(bytes.NewReader(d.body)), ContentLength: int64(len(d.body)), Request: r,
	}, nil
}

func (f *fetcher) document(url string) *document {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.documents[url]
	if d == nil {
		d = &document{limit: rate.NewLimiter(rate.Every(fetchPause), fetchBurst)}
		f.documents[url] = d
	}
	return d
}

// fetch gets a JSON document. What it brings is for all, so one client that goes away does not end it.
func fetch(r *http.Request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), fetchTime)
	defer cancel()
	res, err := http.DefaultTransport.RoundTrip(r.Clone(ctx))
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // what was read counts
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", res.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxDocument))
	if err != nil {
		return nil, err
	}
	if !json.Valid(body) {
		return nil, errors.New("what it answers is not JSON")
	}
	return body, nil
}

// fetchError says that the issuer's document could not be had.
type fetchError struct{ cause error }

// Error implements error.
func (e *fetchError) Error() string { return e.cause.Error() }

// Unwrap gives the cause to errors.Is and errors.As.
func (e *fetchError) Unwrap() error { return e.cause }
