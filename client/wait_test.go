package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/client"
)

func TestWaitJob(t *testing.T) {
	t.Parallel()
	unchanged := respond(http.StatusNotModified, "", "", "Retry-After", "2", "ETag", `"1"`)
	p := newPeer(t,
		job(http.StatusOK, "pending", 1),
		unchanged,
		problem(http.StatusTooManyRequests, "too_many_requests"),
		reset,
		respond(http.StatusBadGateway, "text/html", "<h1>Bad Gateway</h1>"),
		problem(http.StatusServiceUnavailable, "unavailable"),
		respond(http.StatusGatewayTimeout, "text/plain", ""),
		cutOff,
		unchanged,
		job(http.StatusOK, "succeeded", 2),
	)
	sdk, pauses := newSDK(t, p.url)
	got, err := sdk.WaitJob(t.Context(), jobID)
	if err != nil {
		t.Fatal(err)
	}
	if got.State != client.JobStateSucceeded {
		t.Errorf("state %s", got.State)
	}

	type poll struct{ Wait, IfNoneMatch string }
	var polls []poll
	for _, r := range p.seen() {
		polls = append(polls, poll{r.URL.Query().Get("wait"), r.Header.Get("If-None-Match")})
	}
	want := []poll{
		{"20", ""}, {"20", `"1"`},
		// A repeat does not wait: it was perhaps the wait that a proxy cut.
		{"20", `"1"`}, {"", `"1"`}, {"", `"1"`}, {"", `"1"`}, {"", `"1"`}, {"", `"1"`}, {"", `"1"`},
		{"20", `"1"`},
	}
	if diff := cmp.Diff(want, polls); diff != "" {
		t.Errorf("polls (-want +got):\n%s", diff)
	}
	// The hints: 700 ms of the body, then 2 s of each 304's header, the time of the poll taken off.
	between := []time.Duration{(*pauses)[0], (*pauses)[1], (*pauses)[len(*pauses)-1]}
	for i, atMost := range []time.Duration{700 * time.Millisecond, 2 * time.Second, 2 * time.Second} {
		if between[i] <= 0 || between[i] > atMost {
			t.Errorf("pause %d is %v, want up to %v", i, between[i], atMost)
		}
	}
}

func TestWaitJobReturnsWhenItAsks(t *testing.T) {
	t.Parallel()
	p := newPeer(t, job(http.StatusOK, "pending", 1), asking(2))
	sdk, _ := newSDK(t, p.url)
	got, err := sdk.WaitJob(t.Context(), jobID)
	if err != nil {
		t.Fatal(err)
	}
	if got.State != client.JobStateAwaitingInput || len(got.Questions) != 1 {
		t.Errorf("job %+v", got)
	}
}

func TestWaitJobEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		job(http.StatusOK, "pending", 1)(w, r)
	})
	sdk, err := client.New(p.url, "key")
	if err != nil {
		t.Fatal(err)
	}
	sdk.RecordPauses(func(time.Duration) { cancel() })
	if _, err := sdk.WaitJob(ctx, jobID); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

// A try must outlast the wait that it asks for (CASES.md 24), and yet have an end.
func TestTryOutlastsTheWait(t *testing.T) {
	t.Parallel()
	p := newPeer(t, job(http.StatusOK, "succeeded", 1))
	left := make(chan time.Duration, 1)
	sdk, _ := newSDK(t, p.url, client.WithTransport(roundTrip(func(r *http.Request) (*http.Response, error) {
		deadline, ok := r.Context().Deadline()
		if !ok {
			t.Error("a try without an end")
		}
		left <- time.Until(deadline)
		return http.DefaultTransport.RoundTrip(r)
	})))
	if _, err := sdk.WaitJob(t.Context(), jobID); err != nil {
		t.Fatal(err)
	}
	if d := <-left; d <= 20*time.Second {
		t.Errorf("a try may take %v, want more than the 20s it waits", d)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestWaitJobUnknownJob(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"not found":      problem(http.StatusNotFound, "not_found"),
		"304 unasked":    respond(http.StatusNotModified, "", ""),
		"not provisiond": respond(http.StatusOK, "text/html", "<h1>Hello</h1>"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sdk, _ := newSDK(t, newPeer(t, answer).url)
			_, err := sdk.WaitJob(t.Context(), jobID)
			if _, ok := errors.AsType[*client.Problem](err); !ok {
				t.Errorf("error %v, want a Problem", err)
			}
		})
	}
}

func TestWaitDoneAnswers(t *testing.T) {
	t.Parallel()
	for name, answerAnswer := range map[string]http.HandlerFunc{
		"accepted":         job(http.StatusOK, "pending", 3),
		"other was faster": problem(http.StatusConflict, "question_already_answered"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent string
			p := newPeer(t, asking(2), func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				sent = r.Method + " " + r.URL.Path + " " + string(body)
				answerAnswer(w, r)
			}, job(http.StatusOK, "pending", 3), job(http.StatusOK, "succeeded", 4))
			sdk, _ := newSDK(t, p.url)
			finished, err := sdk.WaitDone(t.Context(), jobID, answerRegion)
			if err != nil {
				t.Fatal(err)
			}
			if finished.Job.Version != 4 {
				t.Errorf("finished %+v", finished)
			}
			want := "POST /v1/jobs/" + jobID + "/questions/" + questionID + `/answer {"action":"accept","content":{"region":"eu"}}`
			if strings.TrimSpace(sent) != want {
				t.Errorf("sent %s, want %s", sent, want)
			}
		})
	}
}

func answerRegion(_ context.Context, q client.Question) (*client.AnswerRequest, error) {
	content := map[string]any{q.Name: "eu"}
	return &client.AnswerRequest{Action: client.Accept, Content: &content}, nil
}

func TestWaitDoneLeavesAQuestionToAPerson(t *testing.T) {
	t.Parallel()
	p := newPeer(t, asking(2), asking(2), job(http.StatusOK, "succeeded", 3))
	sdk, _ := newSDK(t, p.url)
	times := 0
	_, err := sdk.WaitDone(t.Context(), jobID, func(context.Context, client.Question) (*client.AnswerRequest, error) {
		times++
		return nil, nil //nolint:nilnil // No answer: what Ask says for "somebody else's".
	})
	if err != nil {
		t.Fatal(err)
	}
	if times != 1 {
		t.Errorf("asked %d times, want once", times)
	}
}

func TestWaitDoneErrors(t *testing.T) {
	t.Parallel()
	errAsk := errors.New("nobody is there")
	failed := respond(http.StatusOK, "application/json", jobBody("failed", 2,
		noQuestions+`,"error":{"code":"provider_rejected","message":"The name is taken.","retryable":false}`))
	tests := map[string]struct {
		answers []http.HandlerFunc
		ask     client.Ask
		check   func(error) bool
	}{
		"failed": {[]http.HandlerFunc{failed}, answerRegion, func(err error) bool {
			var e *client.JobFailedError
			return errors.As(err, &e) && e.Job.Error.Code == "provider_rejected" &&
				err.Error() == "job "+jobID+" failed: provider_rejected: The name is taken."
		}},
		"canceled": {[]http.HandlerFunc{job(http.StatusOK, "canceled", 2)}, answerRegion, func(err error) bool {
			var e *client.JobFailedError
			return errors.As(err, &e) && e.Job.State == client.JobStateCanceled
		}},
		"nobody to ask": {[]http.HandlerFunc{asking(1)}, nil, func(err error) bool {
			return errors.Is(err, client.ErrInputRequired)
		}},
		"the callback fails": {
			[]http.HandlerFunc{asking(1)},
			func(context.Context, client.Question) (*client.AnswerRequest, error) { return nil, errAsk },
			func(err error) bool { return errors.Is(err, errAsk) },
		},
		"only a person may": {
			[]http.HandlerFunc{asking(1), problem(http.StatusForbidden, "person_required")}, answerRegion,
			func(err error) bool {
				var e *client.Problem
				return errors.As(err, &e) && e.Code == "person_required"
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sdk, _ := newSDK(t, newPeer(t, tt.answers...).url)
			if _, err := sdk.WaitDone(t.Context(), jobID, tt.ask); !tt.check(err) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestPreflightAndCredentials(t *testing.T) {
	t.Parallel()
	p := newPeer(t,
		respond(http.StatusOK, "application/json", `{"valid":true,"blockers":[],"questions":[]}`),
		respond(http.StatusOK, "application/json", `{"binding_id":"b","instance_id":"i","credentials":{"uri":"postgres://x"}}`),
		problem(http.StatusForbidden, "insufficient_scope"))
	sdk, _ := newSDK(t, p.url)
	preflight, err := sdk.Preflight(t.Context(), client.StartRequest{Service: "postgres", Plan: "small"})
	if err != nil || !preflight.Valid {
		t.Errorf("preflight %+v, %v", preflight, err)
	}
	credentials, err := sdk.Credentials(t.Context(), "bind_01h455vb4pex5vsknk084sn02q")
	if err != nil || credentials.Credentials["uri"] != "postgres://x" {
		t.Errorf("credentials: %v", err)
	}
	if _, err := sdk.Credentials(t.Context(), "bind_01h455vb4pex5vsknk084sn02q"); err == nil {
		t.Error("a refusal is no error")
	}
	only := true
	if _, err := sdk.Start(t.Context(), client.StartRequest{ValidateOnly: &only}); err == nil {
		t.Error("Start took validate_only")
	}
}
