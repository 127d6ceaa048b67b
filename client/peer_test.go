package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// A peer is a server whose every answer the test scripts, since what is tested here is how the
// client takes a bad one. It keeps what it was asked.
type peer struct {
	url string

	mu       sync.Mutex
	requests []*http.Request
	answers  []http.HandlerFunc
}

// newPeer answers the n-th request with the n-th answer, and all after the last with the last.
func newPeer(t *testing.T, answers ...http.HandlerFunc) *peer {
	t.Helper()
	p := &peer{answers: answers}
	server := httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func (p *peer) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	answer := p.answers[min(len(p.requests), len(p.answers)-1)]
	p.requests = append(p.requests, r)
	p.mu.Unlock()
	answer(w, r)
}

func (p *peer) seen() []*http.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*http.Request(nil), p.requests...)
}

// respond answers with a body; header holds alternating names and values.
func respond(status int, contentType, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // A client that has gone is no failure of the peer.
	}
}

func problem(status int, code string, header ...string) http.HandlerFunc {
	body := fmt.Sprintf(`{"type":"about:blank","title":"x","status":%d,"code":%q,"detail":"what to do",`+
		`"errors":[{"pointer":"/plan","detail":"must be set"}],"retryable":true,"request_id":"req_1","job_id":%q}`,
		status, code, jobID)
	return respond(status, "application/problem+json", body, header...)
}

// reset drops the connection without an answer.
func reset(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// cutOff promises a longer body than it sends.
func cutOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "5000")
	_, _ = w.Write([]byte(`{"id":`))
	panic(http.ErrAbortHandler)
}

const (
	jobID      = "job_01h455vb4pex5vsknk084sn02q"
	instanceID = "inst_01h455vb4pex5vsknk084sn02q"
	questionID = "qst_01h455vb4pex5vsknk084sn02q"
)

func jobBody(state string, version int, extra string) string {
	return fmt.Sprintf(`{"id":%q,"operation":"provision","state":%q,"service":"postgres","plan":"small",`+
		`"instance_id":%q,"leftovers":[],"progress":{"step":"s","message":"m"},"version":%d,"poll_after_ms":700,`+
		`"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","deadline_at":"2026-01-01T01:00:00Z"%s}`,
		jobID, state, instanceID, version, extra)
}

const noQuestions = `,"questions":[]`

func job(status int, state string, version int, header ...string) http.HandlerFunc {
	return respond(status, "application/json", jobBody(state, version, noQuestions),
		append(header, "ETag", fmt.Sprintf(`"%d"`, version))...)
}

func asking(version int) http.HandlerFunc {
	question := fmt.Sprintf(`,"questions":[{"id":%q,"name":"region","message":"Where?","schema":{},"secret":false,`+
		`"answerable_by":"any","on_expiry":"fail","state":"open","asked_at":"2026-01-01T00:00:00Z",`+
		`"expires_at":"2026-01-02T00:00:00Z","answer_url":"http://x/answer"}]`, questionID)
	return respond(http.StatusOK, "application/json", jobBody("awaiting_input", version, question),
		"ETag", fmt.Sprintf(`"%d"`, version))
}
