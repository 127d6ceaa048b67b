package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/api"
	"github.com/provisiond/provisiond/jobs"
)

// newLife is a fixture with a worker and an instance that is active, with the path of it.
func newLife(t *testing.T, d driver, start string) (f *fixture, first api.Job, path string) {
	t.Helper()
	f = newFixture(t, d)
	f.work(t)
	first = f.done(t, f.post(t, "/v1/instances", start))
	return f, first, "/v1/instances/" + first.InstanceID
}

const startSmall = `{"service":"thing","plan":"small","name":"shop"}`

func (f *fixture) instance(t testing.TB, path string) (api.Instance, string) {
	t.Helper()
	r := f.get(t, path)
	wantStatus(t, r, http.StatusOK)
	var in api.Instance
	r.json(t, &in)
	return in, r.Header.Get("ETag")
}

func TestInstanceHasAnETag(t *testing.T) {
	t.Parallel()
	f, _, path := newLife(t, driver{}, startSmall)
	_, etag := f.instance(t, path)
	if !strings.HasPrefix(etag, `"`) {
		t.Errorf("ETag %s is not strong", etag)
	}
	known := request{method: "GET", path: path, header: map[string]string{"If-None-Match": etag}}
	r := f.send(t, known)
	if r.StatusCode != http.StatusNotModified || r.Header.Get("ETag") != etag {
		t.Errorf("status %d, ETag %s", r.StatusCode, r.Header.Get("ETag"))
	}
	changed := f.patch(t, path, `{"labels":{"team":"a"}}`)
	wantStatus(t, changed, http.StatusOK)
	wantStatus(t, f.send(t, known), http.StatusOK)

	stale := func(r request, tag string) request {
		r.header = map[string]string{"If-Match": tag}
		return r
	}
	relabel := request{method: "PATCH", path: path, body: `{"labels":{"team":"b"}}`}
	wantProblem(t, f.send(t, stale(relabel, etag)), http.StatusPreconditionFailed, "precondition_failed")
	wantProblem(t, f.send(t, stale(request{method: "DELETE", path: path}, etag)), http.StatusPreconditionFailed, "precondition_failed")
	for _, form := range []string{"", "x", `"a", "b"`, `"open`} {
		wantProblem(t, f.send(t, stale(relabel, form)), http.StatusBadRequest, "invalid_request")
	}
	if in, _ := f.instance(t, path); in.Labels["team"] != "a" || in.State != api.InstanceStateActive {
		t.Errorf("a refused call has changed it: %+v", in)
	}
	r = f.send(t, stale(relabel, changed.Header.Get("ETag")))
	wantStatus(t, r, http.StatusOK)
	wantStatus(t, f.send(t, stale(relabel, "W/"+r.Header.Get("ETag"))), http.StatusOK) // as a proxy that compresses makes it
	wantStatus(t, f.send(t, stale(relabel, "*")), http.StatusOK)
}

func TestUpdateThatNeedsNoJob(t *testing.T) {
	t.Parallel()
	f, first, path := newLife(t, driver{}, startSmall)
	patch := request{
		method: "PATCH", path: path, header: map[string]string{"Idempotency-Key": "k1"},
		body: `{"labels":{"team":"a"},"expires_in":3600,"parameters":{"size":1}}`,
	}
	r := f.send(t, patch)
	wantStatus(t, r, http.StatusOK)
	var in api.Instance
	r.json(t, &in)
	if in.Labels["team"] != "a" || in.ExpiresAt == nil || in.JobID != first.ID || r.Header.Get("Location") != "" {
		t.Errorf("got %s", r.text)
	}
	again := f.send(t, patch)
	wantStatus(t, again, http.StatusOK)
	if diff := cmp.Diff(r.text, again.text); diff != "" || again.Header.Get("Idempotency-Replayed") != "true" || again.Header.Get("ETag") != r.Header.Get("ETag") {
		t.Errorf("the replay is another answer: %v %s", again.Header, diff)
	}
	patch.body = `{"labels":{"team":"b"}}`
	wantProblem(t, f.send(t, patch), http.StatusUnprocessableEntity, "idempotency_key_reused")

	f.patch(t, path, `{"labels":{},"expires_in":null}`).json(t, &in)
	if got, _ := f.instance(t, path); got.ExpiresAt != nil || len(got.Labels) != 0 {
		t.Errorf("got %+v", got)
	}
	wantStatus(t, f.patch(t, path, `{}`), http.StatusOK)
}

func TestUpdateByAJob(t *testing.T) {
	t.Parallel()
	f, _, path := newLife(t, driver{}, startSmall)
	patch := request{method: "PATCH", path: path, body: `{"plan":"large","parameters":{"size":3,"comment":"x"}}`, header: map[string]string{"Idempotency-Key": "k1"}}
	r := f.send(t, patch)
	job := f.done(t, r)
	again := f.send(t, patch)
	if again.StatusCode != http.StatusAccepted || again.text != r.text {
		t.Errorf("the replay is another answer: %d %s", again.StatusCode, again.text)
	}
	in, _ := f.instance(t, path)
	if job.Operation != api.Update || in.Plan != "large" || in.JobID != job.ID || (*in.Endpoint)["host"] != "elsewhere" || !in.Usable || !in.UpdateRepeatable {
		t.Errorf("%+v after %+v", in, job)
	}
	f.done(t, f.patch(t, path, `{"parameters":{"comment":null}}`))
	in, _ = f.instance(t, path)
	if diff := cmp.Diff(map[string]any{"size": 3.0, "place": "eu"}, in.Parameters); diff != "" {
		t.Error(diff)
	}
}

// A new price is asked for, or confirmed in the request.
func TestUpdateThatCosts(t *testing.T) {
	t.Parallel()
	f, _, path := newLife(t, driver{}, startSmall)
	r := f.patch(t, path, `{"plan":"paid"}`)
	wantStatus(t, r, http.StatusAccepted)
	var job api.Job
	r.json(t, &job)
	if job.State != api.JobStateAwaitingInput || job.Questions[0].Name != "confirm_cost" || job.Questions[0].Price.Amount != "5.00" {
		t.Fatalf("got %s", r.text)
	}
	p := wantProblem(t, f.patch(t, path, `{"parameters":{"size":2}}`), http.StatusConflict, "operation_in_progress")
	if *p.JobID != job.ID || !p.Retryable {
		t.Errorf("got %+v", p)
	}
	wantStatus(t, f.post(t, "/v1/jobs/"+job.ID+"/cancel", ""), http.StatusAccepted)
	p = wantProblem(t, f.patch(t, path, `{"plan":"paid","on_question":"fail"}`), http.StatusUnprocessableEntity, "input_required")
	if pointers(p) != "/answers/confirm_cost" {
		t.Errorf("got %+v", p)
	}
	f.done(t, f.patch(t, path, `{"plan":"paid","answers":{"confirm_cost":true}}`))
	if in, _ := f.instance(t, path); in.Plan != "paid" {
		t.Errorf("the plan is %s", in.Plan)
	}
}

// What an update is refused for, with nothing changed and no submitted value told.
func TestUpdateRefusals(t *testing.T) {
	t.Parallel()
	f, _, path := newLife(t, driver{}, startSmall)
	before, etag := f.instance(t, path)
	const inv = "invalid_request"
	for name, tt := range map[string]struct {
		body     string
		status   int
		code     string
		pointers string
	}{
		"unknown field":      {`{"name":"` + canary + `"}`, 422, inv, "/name"},
		"not an object":      {`["` + canary + `"]`, 422, inv, ""},
		"not JSON":           {canary, 400, inv, ""},
		"plan's form":        {`{"plan":"` + canary + `!"}`, 422, inv, "/plan"},
		"unknown plan":       {`{"plan":"canary-51c0ffee"}`, 422, "unknown_plan", "/plan"},
		"plan not allowed":   {`{"plan":"brief"}`, 422, "plan_change_not_allowed", "/plan"},
		"expiry in the past": {`{"expires_in":-3600}`, 422, inv, "/expires_in"},
		"expiry now":         {`{"expires_in":0}`, 422, inv, "/expires_in"},
		"expiry of ages":     {`{"expires_in":315360001}`, 422, inv, "/expires_in"},
		"huge expiry":        {`{"expires_in":1e300}`, 422, inv, "/expires_in"},
		"expiry is no time":  {`{"expires_in":"` + canary + `"}`, 422, inv, "/expires_in"},
		"fixed parameter":    {`{"parameters":{"place":"` + canary + `"}}`, 422, inv, "/parameters/place"},
		"unknown parameter":  {`{"parameters":{"color":"` + canary + `"}}`, 422, inv, "/parameters/color"},
		"parameter's rule":   {`{"parameters":{"size":99,"place":"` + canary + `"}}`, 422, inv, "/parameters/place /parameters/size"},
		"for a person":       {`{"parameters":{"owner":"` + canary + `"}}`, 403, "person_required", "/parameters/owner"},
		"stray answer":       {`{"answers":{"color":"` + canary + `"}}`, 422, inv, "/answers/color"},
		"protected and ends": {`{"expires_in":3600,"deletion_protection":true}`, 422, inv, "/deletion_protection"},
		"null":               {`{"labels":null}`, 422, inv, "/labels"},
		"label":              {`{"labels":{"a":"` + strings.Repeat(canary, 20) + `"}}`, 422, inv, "/labels/a"},
	} {
		t.Run(name, func(t *testing.T) {
			r := f.patch(t, path, tt.body)
			if got := pointers(wantProblem(t, r, tt.status, tt.code)); got != tt.pointers {
				t.Errorf("pointers %q, want %q: %s", got, tt.pointers, r.text)
			}
			if strings.Contains(r.text, canary) {
				t.Errorf("the submitted value is in the answer: %s", r.text)
			}
		})
	}
	after, now := f.instance(t, path)
	if diff := cmp.Diff(before, after); diff != "" || now != etag {
		t.Errorf("ETag %s, then %s: %s", etag, now, diff)
	}
}

func TestExpiryBoundsOfThePlan(t *testing.T) {
	t.Parallel()
	f, _, path := newLife(t, driver{}, `{"service":"thing","plan":"brief"}`)
	in, _ := f.instance(t, path)
	if in.ExpiresAt == nil {
		t.Fatal("the plan's default is not taken")
	}
	for _, body := range []string{`{"expires_in":7201}`, `{"expires_in":null}`} {
		p := wantProblem(t, f.patch(t, path, body), http.StatusUnprocessableEntity, "invalid_request")
		if pointers(p) != "/expires_in" || !strings.Contains((*p.Errors)[0].Detail, "7200 seconds") {
			t.Errorf("%s: %+v", body, p)
		}
	}
	wantStatus(t, f.patch(t, path, `{"expires_in":7200}`), http.StatusOK)
	later, _ := f.instance(t, path)
	if !later.ExpiresAt.After(*in.ExpiresAt) {
		t.Errorf("%v, then %v", in.ExpiresAt, later.ExpiresAt)
	}
	for body, pointer := range map[string]string{
		`"expires_in":7201`: "/expires_in", `"expires_in":59`: "/expires_in", `"deletion_protection":true`: "/deletion_protection",
	} {
		p := wantProblem(t, f.post(t, "/v1/instances", `{"service":"thing","plan":"brief",`+body+`}`), http.StatusUnprocessableEntity, "invalid_request")
		if pointers(p) != pointer {
			t.Errorf("%s: %+v", body, p)
		}
	}
	f.done(t, f.delete(t, path))
	wantProblem(t, f.patch(t, path, `{"expires_in":3600}`), http.StatusConflict, "instance_not_active")
	wantProblem(t, f.post(t, path+"/check", ""), http.StatusConflict, "instance_not_active")
	wantProblem(t, f.post(t, path+"/bindings", ""), http.StatusConflict, "instance_not_active")
}

func TestDeletionProtection(t *testing.T) {
	t.Parallel()
	f, _, path := newLife(t, driver{}, `{"service":"thing","plan":"plain","deletion_protection":true}`)
	if in, _ := f.instance(t, path); !in.DeletionProtection {
		t.Error("the start has not set it")
	}
	wantProblem(t, f.delete(t, path), http.StatusConflict, "deletion_protected")
	var p api.Preflight
	r := f.delete(t, path+"?validate_only=true")
	wantStatus(t, r, http.StatusOK)
	r.json(t, &p)
	if p.Valid || len(p.Blockers) != 1 || p.Blockers[0].Code != "deletion_protected" || p.Blockers[0].ClearedBy != api.BlockerClearedByCaller {
		t.Errorf("got %s", r.text)
	}
	wantStatus(t, f.patch(t, path, `{"deletion_protection":false}`), http.StatusOK)
	wantStatus(t, f.delete(t, path+"?validate_only=false"), http.StatusAccepted)
	wantProblem(t, f.delete(t, path+"?validate_only=yes"), http.StatusBadRequest, "invalid_request")
}

// validate_only tells all blockers at once, who can clear them, the price, the questions and the names, and
// changes nothing.
func TestPreflightsOfAnInstance(t *testing.T) {
	t.Parallel()
	f, first, path := newLife(t, driver{}, startSmall)
	_, etag := f.instance(t, path)
	preflight := func(r response) (p api.Preflight) {
		t.Helper()
		wantStatus(t, r, http.StatusOK)
		r.json(t, &p)
		return p
	}
	name := strings.TrimPrefix(first.InstanceID, "inst_")
	p := preflight(f.patch(t, path, `{"plan":"paid","validate_only":true}`))
	if !p.Valid || p.Price.Amount != "5.00" || p.Questions[0].Name != "confirm_cost" || p.ExternalNames[0] != (api.ExternalName{Kind: "thing", Name: name}) {
		t.Errorf("got %+v", p)
	}
	p = preflight(f.send(t, request{
		method: "PATCH", path: path, header: map[string]string{"If-Match": `"1"`},
		body: `{"plan":"large","parameters":{"place":"us","owner":"me"},"expires_in":315360000,"deletion_protection":true,"validate_only":true}`,
	}))
	var got []string
	for _, b := range p.Blockers {
		got = append(got, b.Code+" "+string(b.ClearedBy))
	}
	want := []string{"precondition_failed caller", "invalid_request caller", "person_required person", "invalid_request caller"}
	if diff := cmp.Diff(want, got); diff != "" || p.Valid {
		t.Error(diff)
	}
	p = preflight(f.delete(t, path+"?validate_only=true"))
	if !p.Valid || p.Questions[0].Name != "confirm_destroy" || p.Questions[0].AnswerableBy != api.AnswerableByPerson || p.ExternalNames[0].Name != name {
		t.Errorf("got %+v", p)
	}
	if _, now := f.instance(t, path); now != etag {
		t.Errorf("ETag %s, then %s", etag, now)
	}
	p = preflight(f.post(t, "/v1/instances", `{"service":"thing","plan":"small","validate_only":true}`))
	if !p.Valid || p.ExternalNames[0].Name != "{instance_id}" {
		t.Errorf("got %+v", p)
	}
	var waits api.Job
	f.patch(t, path, `{"plan":"paid"}`).json(t, &waits)
	p = preflight(f.patch(t, path, `{"parameters":{"size":2},"validate_only":true}`))
	if len(p.Blockers) != 1 || p.Blockers[0].ClearedBy != api.BlockerClearedByCaller || *p.Blockers[0].JobID != waits.ID {
		t.Errorf("got %+v", p)
	}
}

func TestBindingsOfAnInstance(t *testing.T) {
	t.Parallel()
	f, first, path := newLife(t, driver{}, startSmall)
	read := func(id string) (b api.Binding) {
		t.Helper()
		r := f.get(t, "/v1/bindings/"+id)
		wantStatus(t, r, http.StatusOK)
		r.json(t, &b)
		return b
	}
	job := f.done(t, f.post(t, path+"/bindings", `{"name":"reports","expires_in":3600}`))
	b := read(*job.BindingID)
	if job.Operation != api.Bind || *b.Name != "reports" || *b.JobID != job.ID || b.ExpiresAt == nil || !b.RenewBefore.Before(*b.ExpiresAt) {
		t.Errorf("%+v by %+v", b, job)
	}
	wantStatus(t, f.post(t, path+"/bindings", `{"name":"reports","expires_in":3.6e3}`), http.StatusOK) // a whole number in JSON Schema
	taken := wantProblem(t, f.post(t, path+"/bindings", `{"name":"reports"}`), http.StatusConflict, "name_taken")
	if *taken.InstanceID != b.InstanceID || *taken.BindingID != b.ID || *taken.JobID != job.ID {
		t.Errorf("the name is taken by %+v, want the binding %+v", taken, b)
	}
	f.done(t, f.post(t, path+"/bindings", ""))

	rotation := f.done(t, f.post(t, "/v1/bindings/"+b.ID+"/rotate", `{"overlap":60}`))
	successor, old := read(*rotation.BindingID), read(b.ID)
	if rotation.Operation != api.Rotate || *successor.PredecessorID != b.ID || *successor.Name != "reports" || old.Name != nil ||
		old.State != api.BindingStateActive || !old.ExpiresAt.Before(*b.ExpiresAt) {
		t.Errorf("%+v after %+v", successor, old)
	}
	wantStatus(t, f.get(t, "/v1/bindings/"+b.ID+"/credentials"), http.StatusOK)
	wantProblem(t, f.post(t, "/v1/bindings/"+b.ID+"/rotate", ""), http.StatusConflict, "binding_rotated")
	f.done(t, f.post(t, "/v1/bindings/"+*first.BindingID+"/rotate", ""))

	gone := f.done(t, f.delete(t, "/v1/bindings/"+successor.ID))
	if gone.Operation != api.Unbind || read(successor.ID).State != api.BindingStateDeleted {
		t.Errorf("%+v", gone)
	}
	wantStatus(t, f.delete(t, "/v1/bindings/"+successor.ID), http.StatusOK)
	wantProblem(t, f.get(t, "/v1/bindings/"+successor.ID+"/credentials"), http.StatusConflict, "binding_deleted")
	wantProblem(t, f.post(t, "/v1/bindings/"+successor.ID+"/rotate", ""), http.StatusConflict, "binding_deleted")
	wantStatus(t, f.get(t, path+"/bindings"), http.StatusOK)
	for body, pointer := range map[string]string{
		`{"overlap":-1}`: "/overlap", `{"overlap":2592001}`: "/overlap", `{"expires_in":-60}`: "/expires_in", `{"expires_in":315360001}`: "/expires_in",
		`{"name":"` + canary + `"}`: "/name",
	} {
		p := wantProblem(t, f.post(t, "/v1/bindings/"+*first.BindingID+"/rotate", body), http.StatusUnprocessableEntity, "invalid_request")
		if pointers(p) != pointer {
			t.Errorf("%s: %+v", body, p)
		}
	}
	for _, body := range []string{`{"name":"No Name"}`, `{"expires_in":1}`, `{"expires_in":null}`, `{"overlap":1}`, `[]`} {
		wantProblem(t, f.post(t, path+"/bindings", body), http.StatusUnprocessableEntity, "invalid_request")
	}
}

// Nothing but the deletion itself works on an instance that is being deleted, also while it still waits for
// a person.
func TestRotationDuringADelete(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	f, first, path := newLife(t, driver{deprovisionGate: gate}, startSmall)
	person := f.newKey(t, jobs.NewKey{TenantID: f.tenant.ID, Kind: jobs.KindPerson, Scopes: jobs.AllScopes()})
	binding := "/v1/bindings/" + *first.BindingID
	var deletion api.Job
	refused := func() {
		t.Helper()
		for _, r := range []response{
			f.post(t, binding+"/rotate", ""), f.delete(t, binding), f.post(t, path+"/bindings", ""), f.post(t, path+"/check", ""),
		} {
			if p := wantProblem(t, r, http.StatusConflict, "operation_in_progress"); *p.JobID != deletion.ID {
				t.Errorf("got %s", r.text)
			}
		}
	}
	r := f.delete(t, path)
	wantStatus(t, r, http.StatusAccepted)
	r.json(t, &deletion)
	refused()
	wantStatus(t, f.send(t, request{method: "DELETE", path: path, key: person}), http.StatusOK)
	refused()
	wantProblem(t, f.patch(t, path, `{"labels":{}}`), http.StatusConflict, "instance_not_active")
	close(gate)
	f.get(t, "/v1/jobs/"+deletion.ID+"?wait=20").json(t, &deletion)
	if deletion.State != api.JobStateSucceeded {
		t.Errorf("%+v", deletion)
	}
	wantProblem(t, f.post(t, binding+"/rotate", ""), http.StatusConflict, "binding_deleted")
	wantStatus(t, f.delete(t, binding), http.StatusOK)
	var p api.Preflight
	if f.delete(t, path+"?validate_only=true").json(t, &p); !p.Valid {
		t.Errorf("got %+v", p)
	}
}

func TestCheckOfAnInstance(t *testing.T) {
	t.Parallel()
	f, first, path := newLife(t, driver{}, startSmall)
	if in, _ := f.instance(t, path); in.CheckedAt != nil || in.Findings == nil {
		t.Errorf("before the check: %+v", in)
	}
	job := f.done(t, f.post(t, path+"/check", ""))
	in, _ := f.instance(t, path)
	want := []api.Finding{{Kind: api.Missing, ObjectKind: "thing", ObjectName: first.InstanceID, Detail: "It is gone."}}
	if diff := cmp.Diff(want, in.Findings); diff != "" || in.CheckedAt == nil || job.Operation != api.Check {
		t.Errorf("%+v: %s", job, diff)
	}
	wantProblem(t, f.post(t, path+"/check", `{"deep":true}`), http.StatusBadRequest, "invalid_request")
}

func TestCatalogTellsOfChangesAndExpiry(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	var s api.Service
	f.get(t, "/v1/services/thing").json(t, &s)
	plans := map[string]api.Plan{}
	for _, p := range s.Plans {
		plans[p.ID] = p
	}
	if diff := cmp.Diff([]string{"large", "paid"}, plans["small"].UpdatesTo); diff != "" {
		t.Error(diff)
	}
	if e := plans["brief"].Expiry; e == nil || *e.Default != 3600 || *e.Max != 7200 || plans["small"].Expiry != nil {
		t.Errorf("expiry %+v", e)
	}
	size := plans["small"].Parameters["properties"].(map[string]any)["size"].(map[string]any)
	if size["x-mutable"] != true {
		t.Errorf("size is %v", size)
	}
}
