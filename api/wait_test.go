package api_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/provisiond/provisiond/api"
)

// startPending starts a job that stays pending: no worker runs, or the driver waits.
func (f *fixture) startPending(t testing.TB) api.Job {
	t.Helper()
	r := f.post(t, "/v1/instances", `{"service":"thing","plan":"plain"}`)
	wantStatus(t, r, http.StatusAccepted)
	var job api.Job
	r.json(t, &job)
	return job
}

func TestPollAnswersTheMomentItIsDone(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	f := newFixture(t, driver{gate: gate})
	f.work(t)
	job := f.startPending(t)
	polled := make(chan response)
	go func() { polled <- f.get(t, "/v1/jobs/"+job.ID+"?wait=20") }()
	close(gate)
	r := <-polled
	r.json(t, &job)
	if job.State != api.JobStateSucceeded || r.Header.Get("Preference-Applied") != "wait=20" {
		t.Errorf("got %s, Preference-Applied %q", r.text, r.Header.Get("Preference-Applied"))
	}
}

func TestPollIsConditional(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	job := f.startPending(t)
	etag := f.get(t, "/v1/jobs/"+job.ID).Header.Get("ETag")
	for header, status := range map[string]int{
		etag: 304, "W/" + etag: 304, "*": 304, `"0", ` + etag: 304,
		`"0"`: 200, "1": 200, `"1`: 200, `"a" "b"`: 200,
	} {
		r := f.send(t, request{method: "GET", path: "/v1/jobs/" + job.ID, header: map[string]string{"If-None-Match": header}})
		if r.StatusCode != status || r.Header.Get("ETag") != etag || r.Header.Get("Retry-After") != "1" {
			t.Errorf("%s: status %d, want %d; headers %v", header, r.StatusCode, status, r.Header)
		}
	}
	r := f.send(t, request{method: "HEAD", path: "/v1/jobs/" + job.ID})
	if r.StatusCode != http.StatusOK || r.text != "" || r.Header.Get("ETag") != etag {
		t.Errorf("HEAD: status %d, ETag %q, body %q", r.StatusCode, r.Header.Get("ETag"), r.text)
	}
}

// The wait asked for and the one applied; the job is finished, so no answer waits.
func TestPreferWait(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	job := f.startPending(t)
	wantStatus(t, f.post(t, "/v1/jobs/"+job.ID+"/cancel", ""), http.StatusAccepted)
	for _, tt := range []struct{ query, prefer, want string }{
		{"", "", ""},
		{"", "wait=5", "wait=5"},
		{"", `respond-async, WAIT = "5"; x=1`, "wait=5"},
		{"", "wait=5, wait=7", "wait=5"},
		{"", "wait=86400", "wait=20"},
		{"?wait=100", "", "wait=20"},
		{"?wait=3", "wait=5", "wait=3"},
		{"?wait=0", "wait=5", ""},
		{"", "wait", ""},
		{"", "wait=-1", ""},
		{"", "wait=99999999999999999999", ""},
		{"", "wait=x, handling=strict", ""},
		{"", "=;,\"", ""},
	} {
		header := map[string]string{}
		if tt.prefer != "" {
			header["Prefer"] = tt.prefer
		}
		r := f.send(t, request{method: "GET", path: "/v1/jobs/" + job.ID + tt.query, header: header})
		if got := r.Header.Get("Preference-Applied"); r.StatusCode != http.StatusOK || got != tt.want {
			t.Errorf("%q, Prefer: %q: status %d, applied %q, want %q", tt.query, tt.prefer, r.StatusCode, got, tt.want)
		}
	}
}

func TestDrainEndsWaits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	job := f.startPending(t)
	wantStatus(t, f.send(t, request{method: "GET", path: "/health/ready", key: "-"}), http.StatusOK)
	polled := make(chan response)
	go func() { polled <- f.get(t, "/v1/jobs/"+job.ID+"?wait=20") }()
	f.Drain()
	r := <-polled
	wantStatus(t, r, http.StatusOK)
	if r.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	r = f.send(t, request{method: "GET", path: "/health/ready", key: "-"})
	wantStatus(t, r, http.StatusServiceUnavailable)
	wantStatus(t, f.send(t, request{method: "GET", path: "/health/live", key: "-"}), http.StatusOK)
}

func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	job := f.startPending(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int)
	h := f.handler(t)
	go func() {
		done <- call(ctx, h, "GET", "/v1/jobs/"+job.ID+"?wait=20", f.key).StatusCode
	}()
	cancel()
	if status := <-done; status != 499 {
		t.Errorf("status %d", status)
	}
	if got := f.log.entries(t, 499); len(got) != 1 || got[0]["level"] != "INFO" {
		t.Errorf("log: %v", got)
	}
}
