package api

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/provisiond/provisiond/jobs"
)

// call is what is known of one request: for its handler, its error answer and its log line.
type call struct {
	requestID string
	// operation is nil for what is not in the contract.
	operation *operation
	caller    jobs.Caller
	// scope is the one that the caller lacks.
	scope string
	// cause is for the log only.
	cause error
	stack string
}

type callKey struct{}

// callOf returns the request's call; every request has one from the first middleware on.
func callOf(c echo.Context) *call {
	call, _ := c.Request().Context().Value(callKey{}).(*call)
	return call
}

// callerOf returns who makes the request; the zero Caller in public operations.
func callerOf(ctx context.Context) jobs.Caller {
	call, _ := ctx.Value(callKey{}).(*call)
	return call.caller
}

// headerRequestID carries the request's ID in both directions.
const headerRequestID = "X-Request-ID"

var requestIDForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// begin gives the request its ID, the client's own where that has the right form.
func (s *server) begin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		id := r.Header.Get(headerRequestID)
		if !requestIDForm.MatchString(id) {
			id = jobs.NewRequestID()
		}
		call := &call{requestID: id, operation: s.contract.operation(r.Method, c.Path())}
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), callKey{}, call)))
		h := c.Response().Header()
		h.Set(headerRequestID, id)
		h.Set("X-Content-Type-Options", "nosniff")
		if call.operation != nil {
			h.Set("Cache-Control", call.operation.cacheControl())
		}
		return next(c)
	}
}

// cacheControl keeps answers out of caches, but for those that can be asked for again by their ETag.
func (o *operation) cacheControl() string {
	if o.conditional {
		return "private, no-cache"
	}
	return "no-store"
}

// log answers what went wrong and writes the one line of the request. It names the route, not the
// path, and no query, header or body: those may hold secrets.
func (s *server) log(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		began := time.Now()
		if err := next(c); err != nil {
			c.Error(err)
		}
		r, w, call := c.Request(), c.Response(), callOf(c)
		attrs := []slog.Attr{
			slog.String("method", method(r)), slog.String("route", c.Path()),
			slog.Int("status", w.Status), slog.Duration("duration", time.Since(began)),
			slog.Int64("bytes", w.Size), slog.String("request_id", call.requestID),
		}
		if call.caller.KeyID != "" {
			attrs = append(attrs, slog.String("tenant", call.caller.TenantID), slog.String("key", call.caller.KeyID))
		}
		if call.cause != nil {
			attrs = append(attrs, slog.String("error", call.cause.Error()))
		}
		if call.stack != "" {
			attrs = append(attrs, slog.String("stack", call.stack))
		}
		s.logger.LogAttrs(r.Context(), level(w.Status, c.Path()), "request", attrs...)
		return nil
	}
}

// level is Error for what is our fault. Probes come every second, and what makes a replica unready
// has a log line of its own.
func level(status int, route string) slog.Level {
	switch {
	case strings.HasPrefix(route, "/health/"):
		return slog.LevelDebug
	case status >= 500:
		return slog.LevelError
	default:
		return slog.LevelInfo
	}
}

// method is the request's method if it is a usual one: the client may send any word.
func method(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return r.Method
	default:
		return "other"
	}
}
