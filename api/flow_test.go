package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/api"
	"github.com/provisiond/provisiond/jobs"
)

func TestStartAnswerCredentialsDelete(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	f.work(t)
	person := f.newKey(t, jobs.NewKey{TenantID: f.tenant.ID, Kind: jobs.KindPerson, Scopes: jobs.AllScopes()})

	r := f.post(t, "/v1/instances", `{"service":"thing","plan":"region","name":"shop","labels":{"team":"a"}}`)
	wantStatus(t, r, http.StatusAccepted)
	var job api.Job
	r.json(t, &job)
	if job.State != api.JobStateAwaitingInput || len(job.Questions) != 2 {
		t.Fatalf("got %s", r.text)
	}
	if got, want := r.Header.Get("Location"), "/v1/jobs/"+job.ID; got != want {
		t.Errorf("Location %q, want %q", got, want)
	}
	if got := r.Header.Get("Retry-After"); got != "2" || job.PollAfterMs != 2000 {
		t.Errorf("Retry-After %q, poll_after_ms %d", got, job.PollAfterMs)
	}
	path, page := map[string]string{}, map[string]string{}
	for _, q := range job.Questions {
		path[q.Name] = "/v1/jobs/" + job.ID + "/questions/" + q.ID + "/answer"
		if page[q.Name] = q.AnswerURL; q.AnswerURL != "https://provisiond.example/answer/"+q.ID {
			t.Errorf("answer_url %q", q.AnswerURL)
		}
	}

	token := `{"action":"accept","content":{"token":"` + canary + `"}}`
	r = f.post(t, path["token"], token)
	wantProblem(t, r, http.StatusForbidden, "person_required")
	var p api.Problem
	r.json(t, &p)
	if p.AnswerURL == nil || *p.AnswerURL != page["token"] || *p.JobID != job.ID {
		t.Errorf("got %s", r.text)
	}
	r = f.post(t, path["region"], `{"action":"accept","content":{"region":"eu"}}`)
	wantStatus(t, r, http.StatusOK)
	r = f.send(t, request{method: "POST", path: path["token"], key: person, body: token})
	wantStatus(t, r, http.StatusOK)

	r = f.get(t, "/v1/jobs/"+job.ID+"?wait=20")
	wantStatus(t, r, http.StatusOK)
	r.json(t, &job)
	if job.State != api.JobStateSucceeded || r.Header.Get("Retry-After") != "" || job.PollAfterMs != 0 {
		t.Fatalf("got %s", r.text)
	}
	r = f.get(t, "/v1/bindings/"+*job.BindingID+"/credentials")
	wantStatus(t, r, http.StatusOK)
	var c api.Credentials
	r.json(t, &c)
	if diff := cmp.Diff(map[string]string{"password": password}, c.Credentials); diff != "" {
		t.Error(diff)
	}
	if r.Header.Get("Cache-Control") != "no-store" {
		t.Error("the credentials may be cached")
	}

	r = f.get(t, "/v1/instances/"+job.InstanceID)
	if wantStatus(t, r, http.StatusOK); strings.Contains(r.text, canary) {
		t.Errorf("the secret parameter shows: %s", r.text)
	}
	for _, path := range []string{"/v1/instances?label=team%3Da&name=shop&state=active&service=thing", "/v1/instances/" + job.InstanceID + "/bindings",
		"/v1/jobs?state=succeeded&operation=provision&label=team%3Da&instance_id=" + job.InstanceID, "/v1/jobs/" + job.ID + "/events",
		"/v1/bindings/" + *job.BindingID} {
		r := f.get(t, path)
		if wantStatus(t, r, http.StatusOK); !strings.Contains(r.text, job.InstanceID) || strings.Contains(r.text, canary) {
			t.Errorf("%s: %s", path, r.text)
		}
	}

	r = f.send(t, request{method: "DELETE", path: "/v1/instances/" + job.InstanceID})
	wantStatus(t, r, http.StatusAccepted)
	r.json(t, &job)
	confirmation := job.Questions[0]
	yes := `{"action":"accept","content":{"confirm":true}}`
	answer := "/v1/jobs/" + job.ID + "/questions/" + confirmation.ID + "/answer"
	wantProblem(t, f.send(t, request{method: "POST", path: answer, body: yes}), http.StatusForbidden, "person_required")
	wantStatus(t, f.send(t, request{method: "POST", path: answer, key: person, body: yes}), http.StatusOK)
	r = f.get(t, "/v1/jobs/"+job.ID+"?wait=20")
	r.json(t, &job)
	if job.State != api.JobStateSucceeded || job.Operation != api.Deprovision {
		t.Errorf("got %s", r.text)
	}
	r = f.send(t, request{method: "DELETE", path: "/v1/instances/" + job.InstanceID})
	wantStatus(t, r, http.StatusOK)
	if strings.Contains(f.log.String(), canary) || strings.Contains(f.log.String(), password) {
		t.Error("a secret is in the log")
	}
}

func TestStartAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	start := request{
		method: "POST", path: "/v1/instances", body: `{"service":"thing","plan":"plain","name":"one"}`,
		header: map[string]string{"Idempotency-Key": "k1"},
	}
	first := f.send(t, start)
	wantStatus(t, first, http.StatusAccepted)
	again := f.send(t, start)
	wantStatus(t, again, http.StatusAccepted)
	if again.Header.Get("Idempotency-Replayed") != "true" || first.Header.Get("Idempotency-Replayed") != "" {
		t.Errorf("Idempotency-Replayed: %q, then %q", first.Header.Get("Idempotency-Replayed"), again.Header.Get("Idempotency-Replayed"))
	}
	if diff := cmp.Diff(first.text, again.text); diff != "" {
		t.Errorf("the replayed answer is another one: %s", diff)
	}

	start.body = `{"service":"thing","plan":"plain","name":"two"}`
	wantProblem(t, f.send(t, start), http.StatusUnprocessableEntity, "idempotency_key_reused")

	var job, sameName api.Job
	first.json(t, &job)
	r := f.post(t, "/v1/instances", `{"service":"thing","plan":"plain","name":"one"}`)
	wantStatus(t, r, http.StatusOK)
	r.json(t, &sameName)
	if sameName.ID != job.ID || r.Header.Get("Location") != "/v1/jobs/"+job.ID {
		t.Errorf("got job %s, want %s", sameName.ID, job.ID)
	}
	r = f.post(t, "/v1/instances", `{"service":"other","plan":"plain","name":"one"}`)
	wantProblem(t, r, http.StatusConflict, "name_taken")
	var p api.Problem
	r.json(t, &p)
	if *p.JobID != job.ID || *p.InstanceID != job.InstanceID {
		t.Errorf("got %s", r.text)
	}

	r = f.post(t, "/v1/jobs/"+job.ID+"/cancel", "")
	wantStatus(t, r, http.StatusAccepted)
	if !strings.Contains(r.text, `"canceled"`) {
		t.Errorf("got %s", r.text)
	}
}

func TestValidateOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	r := f.post(t, "/v1/instances", `{"service":"thing","plan":"region","validate_only":true,"parameters":{"region":"`+canary+`"}}`)
	wantStatus(t, r, http.StatusOK)
	var p api.Preflight
	r.json(t, &p)
	if p.Valid || len(p.Blockers) != 1 || *p.Blockers[0].Pointer != "/parameters/region" || len(p.Questions) != 1 {
		t.Errorf("got %s", r.text)
	}
	if strings.Contains(r.text, canary) {
		t.Errorf("the submitted value shows: %s", r.text)
	}
	r = f.get(t, "/v1/instances")
	if r.text != "{\"items\":[]}\n" {
		t.Errorf("something was made: %s", r.text)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	want := map[string]bool{}
	for range 3 {
		var job api.Job
		f.post(t, "/v1/instances", `{"service":"thing","plan":"plain"}`).json(t, &job)
		want[job.ID] = true
	}
	got := map[string]bool{}
	for path := "/v1/jobs?limit=2"; path != ""; {
		var list api.JobList
		f.get(t, path).json(t, &list)
		for _, j := range list.Items {
			got[j.ID] = true
		}
		path = ""
		if list.NextCursor != nil {
			path = "/v1/jobs?limit=2&cursor=" + *list.NextCursor
			wantProblem(t, f.get(t, path+"&state=failed"), http.StatusBadRequest, "invalid_cursor")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantStatus(t, f.get(t, "/v1/jobs?limit=5000"), http.StatusOK) // taken as 200
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	r := f.get(t, "/v1/services")
	wantStatus(t, r, http.StatusOK)
	etag := r.Header.Get("ETag")
	for _, path := range []string{"/v1/services", "/v1/services/thing"} {
		for header, status := range map[string]int{etag: 304, "W/" + etag: 304, `"x", ` + etag: 304, "*": 304, `"x"`: 200} {
			r := f.send(t, request{method: "GET", path: path, header: map[string]string{"If-None-Match": header}})
			if r.StatusCode != status || r.Header.Get("ETag") != etag {
				t.Errorf("%s with %s: status %d, ETag %q", path, header, r.StatusCode, r.Header.Get("ETag"))
			}
		}
	}
	r = f.send(t, request{method: "HEAD", path: "/v1/services"})
	if r.StatusCode != http.StatusOK || r.text != "" || r.Header.Get("ETag") != etag {
		t.Errorf("HEAD: status %d, body %q", r.StatusCode, r.text)
	}
	wantProblem(t, f.get(t, "/v1/services/none"), http.StatusNotFound, "not_found")
}

func TestTenantsAreApart(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	var job api.Job
	f.post(t, "/v1/instances", `{"service":"thing","plan":"plain"}`).json(t, &job)
	other, err := jobs.NewAdmin(f.pool).CreateTenant(context.Background(), "other")
	if err != nil {
		t.Fatal(err)
	}
	foreign := f.newKey(t, jobs.NewKey{TenantID: other.ID, Kind: jobs.KindPerson, Scopes: jobs.AllScopes()})
	const nobodys = "01h455vb4pex5vsknk084sn02q"
	instance, binding := "/v1/instances/"+job.InstanceID, "/v1/bindings/"+*job.BindingID
	for _, r := range []request{
		{method: "GET", path: "/v1/jobs/" + job.ID}, {method: "GET", path: "/v1/jobs/" + job.ID + "/events"}, {method: "GET", path: instance},
		{method: "GET", path: instance + "/bindings"}, {method: "GET", path: binding}, {method: "GET", path: binding + "/credentials"},
		{method: "PATCH", path: instance, body: `{"labels":{}}`}, {method: "PATCH", path: instance, body: `{"validate_only":true}`},
		{method: "DELETE", path: instance}, {method: "DELETE", path: instance + "?validate_only=true"}, {method: "POST", path: instance + "/check"},
		{method: "POST", path: instance + "/bindings"}, {method: "POST", path: binding + "/rotate"}, {method: "DELETE", path: binding},
	} {
		path := r.path
		missing := strings.NewReplacer(job.ID, "job_"+nobodys, job.InstanceID, "inst_"+nobodys, *job.BindingID, "bind_"+nobodys).Replace(path)
		same := map[string]string{"X-Request-Id": "same"}
		r.key, r.header = foreign, same
		got := f.send(t, r)
		r.path = missing
		want := f.send(t, r)
		if diff := cmp.Diff(want.text, got.text); diff != "" || got.StatusCode != http.StatusNotFound {
			t.Errorf("%s %s: status %d, %s", r.method, path, got.StatusCode, diff)
		}
	}
}
