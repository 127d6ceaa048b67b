package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/client"
)

// newSDK returns an SDK whose pauses take no time, and the pauses that it asked for.
func newSDK(t *testing.T, url string, opts ...client.Option) (*client.SDK, *[]time.Duration) {
	t.Helper()
	sdk, err := client.New(url, "prov_agent_test", opts...)
	if err != nil {
		t.Fatal(err)
	}
	var pauses []time.Duration
	sdk.RecordPauses(func(d time.Duration) { pauses = append(pauses, d) })
	return sdk, &pauses
}

func start(t *testing.T, sdk *client.SDK) (*client.Accepted, error) {
	t.Helper()
	return sdk.Start(t.Context(), client.StartRequest{Service: "postgres", Plan: "small"})
}

func TestStartSurvives(t *testing.T) {
	t.Parallel()
	tests := map[string]http.HandlerFunc{
		"reset":                   reset,
		"answer cut off":          cutOff,
		"429":                     problem(http.StatusTooManyRequests, "too_many_requests"),
		"502 of a proxy":          respond(http.StatusBadGateway, "text/html", "<h1>Bad Gateway</h1>"),
		"503":                     problem(http.StatusServiceUnavailable, "unavailable"),
		"504":                     respond(http.StatusGatewayTimeout, "text/plain", ""),
		"idempotency in progress": problem(http.StatusConflict, "idempotency_in_progress"),
	}
	for name, bad := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var bodies []string
			keepBody := func(next http.HandlerFunc) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					if err != nil {
						t.Error(err)
					}
					bodies = append(bodies, string(body))
					next(w, r)
				}
			}
			p := newPeer(t, keepBody(bad), keepBody(bad), keepBody(job(http.StatusAccepted, "pending", 1)))
			sdk, pauses := newSDK(t, p.url)

			accepted, err := start(t, sdk)
			if err != nil {
				t.Fatal(err)
			}
			if accepted.JobID != jobID || accepted.InstanceID != instanceID || accepted.Existing {
				t.Errorf("accepted %+v", accepted)
			}
			if len(*pauses) != 2 {
				t.Errorf("paused %d times, want 2", len(*pauses))
			}
			if len(bodies) != 3 || bodies[0] == "" || bodies[1] != bodies[0] || bodies[2] != bodies[0] {
				t.Errorf("the bodies differ: %q", bodies)
			}
			checkOneKey(t, p.seen())
		})
	}
}

// checkOneKey: CASES.md 13.
func checkOneKey(t *testing.T, requests []*http.Request) {
	t.Helper()
	key := requests[0].Header.Get("Idempotency-Key")
	if key == "" {
		t.Error("no Idempotency-Key")
	}
	for _, r := range requests {
		if got := r.Header.Get("Idempotency-Key"); got != key {
			t.Errorf("Idempotency-Key %q, want %q as before", got, key)
		}
	}
}

func TestEachCallHasItsOwnKey(t *testing.T) {
	t.Parallel()
	p := newPeer(t, job(http.StatusAccepted, "pending", 1))
	sdk, _ := newSDK(t, p.url)
	for range 2 {
		if _, err := start(t, sdk); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sdk.Deprovision(t.Context(), instanceID); err != nil {
		t.Fatal(err)
	}
	if _, err := sdk.Cancel(t.Context(), jobID); err != nil {
		t.Fatal(err)
	}
	keys := make(map[string]bool)
	for _, r := range p.seen() {
		keys[r.Header.Get("Idempotency-Key")] = true
	}
	if len(keys) != 4 || keys[""] {
		t.Errorf("keys %v, want 4 different ones", keys)
	}
}

func TestCallersKeyAndHeaders(t *testing.T) {
	t.Parallel()
	p := newPeer(t, reset, job(http.StatusOK, "pending", 1))
	sdk, _ := newSDK(t, p.url, client.WithUserAgent("shop/1"))
	accepted, err := sdk.Start(t.Context(), client.StartRequest{Service: "postgres", Plan: "small"},
		client.WithIdempotencyKey("mine"))
	if err != nil {
		t.Fatal(err)
	}
	if !accepted.Existing {
		t.Error("200 is the job of an equal start before")
	}
	for _, r := range p.seen() {
		got := []string{r.Header.Get("Idempotency-Key"), r.Header.Get("Authorization"), r.Header.Get("User-Agent")}
		want := []string{"mine", "Bearer prov_agent_test", "shop/1"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRefusalsAreNotRepeated(t *testing.T) {
	t.Parallel()
	tests := map[string]http.HandlerFunc{
		"400":                 problem(http.StatusBadRequest, "invalid_request"),
		"404":                 problem(http.StatusNotFound, "not_found"),
		"409":                 problem(http.StatusConflict, "name_taken"),
		"409 no JSON":         respond(http.StatusConflict, "text/plain", "no"),
		"422":                 problem(http.StatusUnprocessableEntity, "invalid_request"),
		"500":                 problem(http.StatusInternalServerError, "internal"),
		"redirect":            respond(http.StatusFound, "text/plain", "", "Location", "http://192.0.2.1/"),
		"later than a minute": problem(http.StatusServiceUnavailable, "unavailable", "Retry-After", "3600"),
	}
	for name, refusal := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, refusal)
			sdk, _ := newSDK(t, p.url)
			_, err := start(t, sdk)
			if _, ok := errors.AsType[*client.ProblemError](err); !ok {
				t.Fatalf("error %v, want a ProblemError", err)
			}
			if n := len(p.seen()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

func TestTriesAreBounded(t *testing.T) {
	t.Parallel()
	p := newPeer(t, problem(http.StatusServiceUnavailable, "unavailable", "Retry-After", "7"))
	sdk, pauses := newSDK(t, p.url, client.WithMaxTries(3))
	_, err := start(t, sdk)

	var refused *client.ProblemError
	if !errors.As(err, &refused) || refused.RetryAfter != 7*time.Second {
		t.Fatalf("error %#v, want a ProblemError with RetryAfter 7s", err)
	}
	var problem *client.Problem
	if !errors.As(err, &problem) || problem.Code != "unavailable" || *problem.JobID != jobID {
		t.Errorf("problem %#v", problem)
	}
	const text = "503 unavailable: what to do; /plan: must be set (request req_1)"
	if err.Error() != text {
		t.Errorf("text %q, want %q", err, text)
	}
	if n := len(p.seen()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	for _, pause := range *pauses {
		if pause < 7*time.Second {
			t.Errorf("a pause of %v, want what Retry-After asks at least", pause)
		}
	}
}

func TestContextEndsTheTries(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		reset(w, r)
	})
	sdk, _ := newSDK(t, p.url)
	_, err := sdk.Start(ctx, client.StartRequest{Service: "postgres", Plan: "small"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if n := len(p.seen()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestNoPauseBeyondTheDeadline(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	p := newPeer(t, problem(http.StatusTooManyRequests, "too_many_requests", "Retry-After", "30"))
	sdk, pauses := newSDK(t, p.url)
	_, err := sdk.Start(ctx, client.StartRequest{Service: "postgres", Plan: "small"})
	var problem *client.Problem
	if !errors.As(err, &problem) || problem.Code != "too_many_requests" {
		t.Errorf("error %v, want the 429", err)
	}
	if len(*pauses) != 0 {
		t.Errorf("pauses %v, want none", *pauses)
	}
}

func TestRefusedConnectionIsRepeated(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	sdk, pauses := newSDK(t, url, client.WithMaxTries(4))
	if _, err := start(t, sdk); err == nil {
		t.Fatal("no error from a server that is not there")
	}
	if len(*pauses) != 3 {
		t.Errorf("%d pauses, want 3", len(*pauses))
	}
}

func TestForeignCertificateIsNotRepeated(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(job(http.StatusAccepted, "pending", 1))
	t.Cleanup(server.Close)
	sdk, pauses := newSDK(t, server.URL)
	if _, err := start(t, sdk); err == nil {
		t.Fatal("a foreign certificate was accepted")
	}
	if len(*pauses) != 0 {
		t.Errorf("pauses %v, want none", *pauses)
	}
}

func TestBackoffGrowsToItsBound(t *testing.T) {
	t.Parallel()
	for try := 1; try <= 100; try++ {
		if d := client.Backoff(try); d <= 0 || d > client.MaxPause {
			t.Errorf("try %d: %v", try, d)
		}
	}
	if client.Backoff(1) > client.Backoff(6) {
		t.Error("the first pause is longer than the sixth")
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tests := map[string]time.Duration{
		"":                              0,
		"3":                             3 * time.Second,
		"-3":                            0,
		"99999999999999":                24 * time.Hour,
		"soon":                          0,
		"Thu, 01 Jan 2026 00:00:05 GMT": 5 * time.Second,
		"Wed, 31 Dec 2025 00:00:00 GMT": 0,
	}
	for value, want := range tests {
		if got := client.RetryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func TestNewRefusesBadURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "localhost:8080", "ftp://x", "http://", "http://x?a=b", "http://\x00"} {
		if _, err := client.New(url, "key"); err == nil {
			t.Errorf("%q was accepted", url)
		}
	}
}
