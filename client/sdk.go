// Package client is the Go SDK of provisiond. client.gen.go is generated from openapi.yaml: one
// method for each operation. The other files add what a generator cannot know: which failures are
// worth a repeat, how to wait for a job, and errors as Go values.
//
//	sdk, err := client.New("https://provisiond.example.com", os.Getenv("PROVISIOND_KEY"))
//	accepted, err := sdk.Start(ctx, client.StartRequest{Service: "postgres", Plan: "small"})
//	finished, err := sdk.WaitDone(ctx, accepted.JobID, ask)
//	credentials, err := sdk.Credentials(ctx, *finished.Job.BindingID)
package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// SDK calls one provisiond server. It is safe for concurrent use.
//
// Every call, the generated ones too, is repeated where that may help: see [New].
type SDK struct {
	*ClientWithResponses
	retry *retrier
}

// Option changes how [New] sets up an SDK.
type Option func(*options)

type options struct {
	transport http.RoundTripper
	userAgent string
	maxTries  int
}

// WithTransport sends the requests through rt in place of [http.DefaultTransport].
func WithTransport(rt http.RoundTripper) Option {
	return func(o *options) { o.transport = rt }
}

// WithUserAgent names the calling program in the User-Agent header.
func WithUserAgent(name string) Option {
	return func(o *options) { o.userAgent = name }
}

// WithMaxTries sets how often one call is sent at the most; 1 means no repeats. The default is 8,
// which lasts through about half a minute of a server that is away.
func WithMaxTries(n int) Option {
	return func(o *options) { o.maxTries = max(n, 1) }
}

// New returns an SDK for the server at baseURL, an absolute http or https URL. With an empty apiKey
// each call must bring its own Authorization header by a [RequestEditorFn].
//
// A call is sent again, with exponential back-off and jitter and not before Retry-After, when the
// connection failed, when the answer was cut off, or when it was 429, 502, 503, 504 or
// 409 idempotency_in_progress. That is safe since each POST, PATCH and DELETE carries an Idempotency-Key,
// the same one over all repeats: the caller's ([WithIdempotencyKey]) or else a random one. The
// context bounds a call with all its repeats. Redirects are not followed, so that the key goes to
// no other server.
func New(baseURL, apiKey string, opts ...Option) (*SDK, error) {
	o := options{transport: http.DefaultTransport, userAgent: "provisiond-go", maxTries: 8}
	for _, opt := range opts {
		opt(&o)
	}
	if err := checkBaseURL(baseURL); err != nil {
		return nil, err
	}
	retry := newRetrier(o.transport, o.maxTries)
	c, err := NewClientWithResponses(baseURL,
		WithHTTPClient(retry),
		WithRequestEditorFn(func(_ context.Context, req *http.Request) error {
			req.Header.Set("User-Agent", o.userAgent)
			if apiKey != "" {
				req.Header.Set("Authorization", "Bearer "+apiKey)
			}
			return nil
		}))
	if err != nil {
		return nil, err
	}
	return &SDK{ClientWithResponses: c, retry: retry}, nil
}

// WithIdempotencyKey gives a call the caller's own Idempotency-Key, for a caller that repeats a call
// itself, such as after its own restart.
func WithIdempotencyKey(key string) RequestEditorFn {
	return func(_ context.Context, req *http.Request) error {
		req.Header.Set(idempotencyHeader, key)
		return nil
	}
}

// checkBaseURL does not repeat the URL in its error, since a URL may hold a password.
func checkBaseURL(baseURL string) error {
	u, err := url.Parse(baseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" {
		return errors.New("base URL: must be http:// or https:// with a host and without a query")
	}
	return nil
}
