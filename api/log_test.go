package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/labstack/echo/v4"
)

// newBare makes the server without a core, for routes of the test's own.
func newBare(t *testing.T, log io.Writer) *echo.Echo {
	t.Helper()
	c, err := loadContract(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &server{logger: slog.New(slog.NewJSONHandler(log, nil)), contract: c}
	return s.echo()
}

func TestFaultsOfOurs(t *testing.T) {
	t.Parallel()
	const secret = "secret-in-a-fault"
	for _, tt := range []struct {
		name    string
		handler echo.HandlerFunc
		status  int
		code    string
		logged  bool // whether the cause's text is in the log
	}{
		{"panic", func(echo.Context) error { panic(secret) }, 500, "internal", false},
		{"runtime error", func(c echo.Context) error { return c.String(int(secret[c.Response().Status]), "") }, 500, "internal", false},
		{"error", func(echo.Context) error { return errors.New(secret) }, 500, "internal", true},
		{"echo", func(echo.Context) error { return echo.NewHTTPError(502, secret) }, 500, "internal", true},
		{"echo's binder", func(echo.Context) error { return echo.NewHTTPError(400, secret) }, 400, "invalid_request", false},
		{"database", func(echo.Context) error { return &pgconn.PgError{Code: "57P01", Message: secret} }, 503, "unavailable", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			e := newBare(t, &log)
			e.GET("/thing/:id", tt.handler)
			r := httptest.NewRequest(http.MethodGet, "/thing/canary?canary=canary", strings.NewReader("canary"))
			r.Header.Set(headerRequestID, "mine")
			w := httptest.NewRecorder()
			e.ServeHTTP(w, r)
			var p Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			if w.Code != tt.status || p.Code != tt.code || p.RequestID != "mine" || strings.Contains(w.Body.String(), secret) {
				t.Errorf("status %d, body %s", w.Code, w.Body)
			}
			if strings.Contains(log.String(), secret) != tt.logged || strings.Contains(log.String(), "canary") {
				t.Errorf("log: %s", &log)
			}
			if lines := strings.Count(log.String(), "\n"); lines != 1 {
				t.Errorf("%d log lines", lines)
			}
			if isOurs := strings.Contains(log.String(), `"level":"ERROR"`); isOurs != (tt.status >= 500) {
				t.Errorf("log: %s", &log)
			}
		})
	}
}

func TestLogLine(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	e := newBare(t, &log)
	e.POST("/thing/:id", func(c echo.Context) error { return c.String(http.StatusOK, "four") })
	r := httptest.NewRequest(http.MethodPost, "/thing/one", nil)
	r.Header.Set(headerRequestID, strings.Repeat("x", 65))
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	id := w.Header().Get(headerRequestID)
	if !strings.HasPrefix(id, "req_") {
		t.Errorf("request ID %q", id)
	}
	delete(line, "time")
	delete(line, "duration")
	want := map[string]any{
		"level": "INFO", "msg": "request", "method": "POST", "route": "/thing/:id",
		"status": 200.0, "bytes": 4.0, "request_id": id,
	}
	if diff := cmp.Diff(want, line); diff != "" {
		t.Error(diff)
	}
}

func TestIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{&pgconn.ConnectError{}, true},
		{&pgconn.PgError{Code: "57P03"}, true},
		{&pgconn.PgError{Code: "53300"}, true},
		{&pgconn.PgError{Code: "08006"}, true},
		{&pgconn.PgError{Code: "40P01"}, true},
		{&pgconn.PgError{Code: "23505"}, false},
		{&pgconn.PgError{Code: "57014"}, false}, // query_canceled
		{&net.OpError{Op: "read", Err: errors.New("connection reset")}, true},
		{io.ErrUnexpectedEOF, true},
		{context.DeadlineExceeded, true},
		{context.Canceled, false},
		{errors.New("conn closed"), false},
	} {
		if got := isUnavailable(fmt.Errorf("poll: %w", tt.err)); got != tt.want {
			t.Errorf("%v: %v", tt.err, got)
		}
	}
}
