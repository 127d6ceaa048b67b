package e2e_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/provisiond/provisiond/client"
)

// TestAnswerOnThePageEndsTheAgentsWait asks for a secret, which no tool takes: the agent waits by get_job
// while a person signs in and answers on the page, by way of the other replica.
func TestAnswerOnThePageEndsTheAgentsWait(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{})
	a := &rawAgent{c: c}
	question := colour("token", 0)
	question["secret"] = true
	job := callUntilAsked(t, a, callJob(t, a, "start_provision", object{
		"service": "sandbox", "plan": "tunable", "parameters": object{"questions": []object{question}},
	}))
	page, err := url.Parse(openQuestion(t, job, "token").AnswerURL)
	if err != nil {
		t.Fatal(err)
	}

	person := &visitor{c: c, client: newVisitorClient(t)}
	person.post(t, "/sign-in", url.Values{"key": {c.person}})
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		person.post(t, page.Path, url.Values{"field-0": {"hush-hush"}, "action": {"accept"}})
	}()
	woken := callJob(t, a, "get_job", object{"job_id": job.ID, "wait_seconds": 20, "elicit": false})
	<-answered
	if woken.State == client.JobStateAwaitingInput {
		t.Errorf("get_job returned before the answer: %+v", woken)
	}
	callUntilDone(t, a, woken)
}

// visitor is a person with a browser.
type visitor struct {
	c      *cluster
	client *http.Client
}

// newVisitorClient keeps cookies and follows no redirect.
func newVisitorClient(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// post sends a form, which the page must accept.
func (v *visitor) post(t *testing.T, path string, form url.Values) {
	t.Helper()
	req, err := http.NewRequestWithContext(patient(t), http.MethodPost, v.c.balancer.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Error(err)
		return
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	resp, err := v.client.Do(req)
	if err != nil {
		t.Errorf("POST %s: %v", path, err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSeeOther {
		t.Errorf("POST %s: %s", path, resp.Status)
	}
}
