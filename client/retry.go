package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	idempotencyHeader = "Idempotency-Key"
	codeInProgress    = "idempotency_in_progress"

	// tryTimeout is how long one try may take beyond the wait that it asks the server for.
	tryTimeout = 30 * time.Second
	// maxAnswer bounds what is read of one answer, in bytes. The largest, a page of 200 jobs, is
	// far below.
	maxAnswer = 16 << 20
)

// retrier sends a request until there is an answer worth handing on. It implements
// [HttpRequestDoer] and is safe for concurrent use.
type retrier struct {
	http     *http.Client
	maxTries int
	// sleep returns early, with the context's error, when the context is done. Tests replace it.
	sleep func(context.Context, time.Duration) error
}

func newRetrier(rt http.RoundTripper, maxTries int) *retrier {
	return &retrier{
		http: &http.Client{
			Transport:     rt,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		maxTries: maxTries,
		sleep:    sleep,
	}
}

// Do sends req. The body of its answer is in memory: reading it cannot fail, closing it is optional.
func (r *retrier) Do(req *http.Request) (*http.Response, error) {
	req = withIdempotencyKey(req)
	for try := 1; ; try++ {
		resp, err := r.try(req, try)
		if !mayHelp(req, resp, err) || try >= r.maxTries {
			return resp, err
		}
		pause, ok := pauseBefore(req.Context(), try, resp)
		if !ok {
			return resp, err
		}
		if err := r.sleep(req.Context(), pause); err != nil {
			return nil, err
		}
	}
}

// withIdempotencyKey makes repeats of a changing request safe.
func withIdempotencyKey(req *http.Request) *http.Request {
	if req.Method == http.MethodGet || req.Method == http.MethodHead || req.Header.Get(idempotencyHeader) != "" {
		return req
	}
	req = req.Clone(req.Context())
	req.Header.Set(idempotencyHeader, rand.Text())
	return req
}

// try sends req once and reads the whole answer, so that one that breaks off counts as a failed try.
func (r *retrier) try(req *http.Request, try int) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), tryTimeout+askedWait(req))
	defer cancel()
	req = req.Clone(ctx)
	if try > 1 {
		if err := prepareRepeat(req); err != nil {
			return nil, err
		}
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, resp.Body, maxAnswer))
	_ = resp.Body.Close() // It was read to its end, or its error is already known.
	if err != nil {
		return nil, fmt.Errorf("read the answer to %s %s: %w", req.Method, req.URL.Path, err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// askedWait is the long poll's `wait`, which the client must outlast.
func askedWait(req *http.Request) time.Duration {
	seconds, err := strconv.Atoi(req.URL.Query().Get("wait"))
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// prepareRepeat rewinds the body. A repeat does not wait either: what cut the first try may be a
// proxy with less patience than the wait, and would cut every one.
func prepareRepeat(req *http.Request) error {
	if query := req.URL.Query(); query.Has("wait") {
		query.Del("wait")
		req.URL.RawQuery = query.Encode()
	}
	if req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return fmt.Errorf("rewind the body of %s %s: %w", req.Method, req.URL.Path, err)
	}
	req.Body = body
	return nil
}

// mayHelp tells whether sending req again is both possible and of use.
func mayHelp(req *http.Request, resp *http.Response, err error) bool {
	if req.Context().Err() != nil || (req.Body != nil && req.Body != http.NoBody && req.GetBody == nil) {
		return false
	}
	if err != nil {
		return !permanent(err)
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusConflict:
		return problemCode(resp) == codeInProgress
	}
	return false
}

// permanent names the failures that a repeat does not mend. All others (refused, reset, cut off,
// timed out, closed by a proxy) have too many forms to name.
func permanent(err error) bool {
	var (
		certificate *tls.CertificateVerificationError
		notTLS      tls.RecordHeaderError
		dns         *net.DNSError
		tooLarge    *http.MaxBytesError
	)
	return errors.As(err, &certificate) || errors.As(err, &notTLS) || errors.As(err, &tooLarge) ||
		(errors.As(err, &dns) && dns.IsNotFound)
}

// problemCode reads the code of a problem and leaves the body readable.
func problemCode(resp *http.Response) string {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "" // Cannot be: the body is in memory.
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var problem struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(body, &problem) != nil {
		return "" // Not a problem document.
	}
	return problem.Code
}
