package mcpfacade

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
)

// inProcessURL is the base URL of the API in this process; no request to it leaves it.
const inProcessURL = "http://in-process.invalid"

// inProcess is a transport that calls a handler in place of a server. It is safe for concurrent use.
type inProcess struct {
	handler http.Handler
	log     *slog.Logger
}

// RoundTrip returns when the handler does, or when the request's context ends: a handler that does not
// see that runs on alone, and its answer is dropped.
func (t *inProcess) RoundTrip(out *http.Request) (*http.Response, error) {
	done := make(chan *buffered, 1)
	go func() { done <- t.serve(asServed(out)) }()
	select {
	case <-out.Context().Done():
		return nil, out.Context().Err()
	case answer := <-done:
		if answer == nil {
			return nil, io.ErrUnexpectedEOF
		}
		return answer.response(out), nil
	}
}

// asServed makes of a request to send what a server would have received.
func asServed(out *http.Request) *http.Request {
	in := out.Clone(out.Context())
	in.URL = &url.URL{Path: out.URL.Path, RawPath: out.URL.RawPath, RawQuery: out.URL.RawQuery}
	in.RequestURI = in.URL.RequestURI()
	in.Host = out.URL.Host
	in.RemoteAddr = "127.0.0.1:0"
	if in.Body == nil {
		in.Body = http.NoBody
	}
	return in
}

// serve gives nil where the handler dropped the connection, and a 500 where it panicked.
func (t *inProcess) serve(r *http.Request) (answer *buffered) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			answer = nil
		default:
			// Not the value, which may hold what the caller sent.
			t.log.ErrorContext(r.Context(), "mcp: panic in the API", "method", r.Method, "stack", stack())
			answer = &buffered{status: http.StatusInternalServerError}
		}
	}()
	answer = &buffered{header: http.Header{}}
	t.handler.ServeHTTP(answer, r)
	return answer
}

// buffered collects an answer.
type buffered struct {
	status int
	header http.Header
	sent   http.Header // header as it was when the status was written
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (b *buffered) Header() http.Header { return b.header }

// WriteHeader implements [http.ResponseWriter].
func (b *buffered) WriteHeader(status int) {
	if b.status == 0 && status >= http.StatusOK { // 1xx are not the answer yet.
		b.status, b.sent = status, b.header.Clone()
	}
}

// Write implements [http.ResponseWriter].
func (b *buffered) Write(p []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	return b.body.Write(p)
}

func (b *buffered) response(req *http.Request) *http.Response {
	b.WriteHeader(http.StatusOK)
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", b.status, http.StatusText(b.status)),
		StatusCode:    b.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        b.sent,
		Body:          io.NopCloser(&b.body),
		ContentLength: int64(b.body.Len()),
		Request:       req,
	}
}

// stack is the stack of the calling goroutine, for a log.
func stack() string {
	buf := make([]byte, 16<<10)
	return string(buf[:runtime.Stack(buf, false)])
}
