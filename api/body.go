package api

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// maxBody is the largest request body, in bytes.
const maxBody = 1 << 20

// What is said of a body that is not read.
const (
	bodyTooLarge = "The body must be at most 1 MiB."
	jsonOnly     = "The body must be JSON in UTF-8, without a Content-Encoding: Content-Type: application/json."
)

var errBodyTooLarge = &fault{status: http.StatusRequestEntityTooLarge, code: codeBodyTooLarge, detail: bodyTooLarge}

// limitBody refuses a body that is said to be too large, and cuts off one that turns out to be.
func (s *server) limitBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.ContentLength > maxBody {
			letSend(r)
			if c.Path() == mcpPath { // MCP refuses it in a form of its own
				r.Body = io.NopCloser(tooLarge{})
				return next(c)
			}
			return errBodyTooLarge
		}
		r.Body = http.MaxBytesReader(c.Response().Writer, r.Body, maxBody)
		return next(c)
	}
}

// tooLarge is what is left of a body that was too large.
type tooLarge struct{}

// Read implements [io.Reader].
func (tooLarge) Read([]byte) (int, error) { return 0, &http.MaxBytesError{Limit: maxBody} }

// letSend reads what the client is about to send, within reason: while it sends it does not read, and when
// the connection then closes it loses the answer. A load balancer makes a 502 of that.
func letSend(r *http.Request) {
	const reason = 8 * maxBody
	if r.Header.Get("Expect") == "" { // else it sends nothing before it has our answer
		_, _ = io.CopyN(io.Discard, r.Body, reason) // what cannot be read is not needed
	}
}

// noBody refuses a body that would be passed over; some clients send an empty object where there is none.
func noBody(r *http.Request) error {
	data, err := io.ReadAll(io.LimitReader(r.Body, 64))
	if err != nil && r.Context().Err() != nil {
		return r.Context().Err()
	}
	if text := strings.TrimSpace(string(data)); text != "" && text != "{}" {
		return malformed("", "this operation takes no body")
	}
	return nil
}

// readBody reads the JSON body that the operation takes.
func (o *operation) readBody(r *http.Request) (any, error) {
	if o.bodyOptional && r.ContentLength == 0 {
		return map[string]any{}, nil
	}
	return readBody(r)
}

// readBody reads the JSON body of a request.
func readBody(r *http.Request) (any, error) {
	if !isJSON(r.Header) {
		return nil, &fault{status: http.StatusUnsupportedMediaType, code: codeUnsupportedMediaType, detail: jsonOnly}
	}
	data, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, errBodyTooLarge
	case err != nil && r.Context().Err() != nil:
		return nil, r.Context().Err()
	case err != nil:
		return nil, malformed("", "the body broke off")
	}
	return parseJSON(data)
}

// isJSON reports whether the headers announce plain JSON in UTF-8.
func isJSON(h http.Header) bool {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return false
	}
	media, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || media != echo.MIMEApplicationJSON || len(h.Values("Content-Type")) != 1 {
		return false
	}
	for name, value := range parameters {
		if name != "charset" || !strings.EqualFold(value, "utf-8") {
			return false
		}
	}
	return true
}

// checkedBody hands the value that was checked to the generated code, which asks for it by this
// method; so the handler gets that and not a second reading of the text.
type checkedBody struct {
	io.ReadCloser
	value any
}

// ValidatedValue returns the body's value.
func (b checkedBody) ValidatedValue() any { return b.value }
