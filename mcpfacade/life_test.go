package mcpfacade_test

import (
	"net/http"
	"strings"
	"testing"
)

// What to do next, by what a job did and how it ended, and by what is the matter with an instance.
func TestNextStepsOfALife(t *testing.T) {
	t.Parallel()
	job := func(operation, state string) string {
		return strings.Replace(jobBody(state), `"operation":"provision"`, `"operation":"`+operation+`"`, 1)
	}
	notAnswered := strings.Replace(jobBody("failed"), `"leftovers"`, `"error":{"code":"input_required","message":"m","retryable":false},"leftovers"`, 1)
	instance := func(old, changed string) string { return strings.Replace(instanceBody, old, changed, 1) }
	const instanceRoute = "GET /v1/instances/" + instanceID
	theJob, theInstance, theBinding := map[string]any{"job_id": jobID}, map[string]any{"instance_id": instanceID}, map[string]any{"binding_id": bindingID}
	for name, tt := range map[string]struct {
		tool    string
		args    map[string]any
		route   string
		status  int
		body    string
		isError bool
		want    string
		not     string
	}{
		"updated":                {"get_job", theJob, jobRoute, 200, job("update", "succeeded"), false, "get_instance", "get_credentials"},
		"update failed":          {"get_job", theJob, jobRoute, 200, job("update", "failed"), false, "update_repeatable", "deprovision"},
		"bound":                  {"get_job", theJob, jobRoute, 200, job("bind", "succeeded"), false, bindingID, ""},
		"bind failed":            {"get_job", theJob, jobRoute, 200, job("bind", "failed"), false, "as before", "deprovision"},
		"rotated":                {"get_job", theJob, jobRoute, 200, job("rotate", "succeeded"), false, "before the overlap ends", ""},
		"unbound":                {"get_job", theJob, jobRoute, 200, job("unbind", "succeeded"), false, "gone", "get_credentials"},
		"checked":                {"get_job", theJob, jobRoute, 200, job("check", "succeeded"), false, "findings", "get_credentials"},
		"check started":          {"check_instance", theInstance, "POST /v1/instances/" + instanceID + "/check", 202, job("check", "pending"), false, "get_job with job_id " + jobID, ""},
		"bindings":               {"list_bindings", theInstance, bindingsRoute, 200, bindingsBody, false, "get_credentials", ""},
		"no bindings":            {"list_bindings", theInstance, bindingsRoute, 200, `{"items":[]}`, false, "create_binding", ""},
		"stale update":           {"update_instance", theInstance, patchRoute, 412, problemBody(412, "precondition_failed", ""), true, "get_instance", "request_id"},
		"stale deletion":         {"deprovision_instance", theInstance, "DELETE /v1/instances/" + instanceID, 412, problemBody(412, "precondition_failed", ""), true, "get_instance", "request_id"},
		"broken":                 {"get_instance", theInstance, instanceRoute, 200, instance(`"usable":true`, `"usable":false`), false, "broken", "is ready"},
		"not again":              {"get_instance", theInstance, instanceRoute, 200, instance(`"update_repeatable":true`, `"update_repeatable":false`), false, "Do not repeat", ""},
		"differs":                {"get_instance", theInstance, instanceRoute, 200, instance(`"findings":[]`, `"findings":[{"kind":"missing","object_kind":"role","object_name":"r","detail":"d"}]`), false, "rotate_credentials", "is ready"},
		"ends":                   {"get_instance", theInstance, instanceRoute, 200, instance(`"usable"`, `"expires_at":"2026-01-01T00:00:00Z","usable"`), false, "expires_in", ""},
		"rotated before":         {"rotate_credentials", theBinding, "POST /v1/bindings/" + bindingID + "/rotate", 409, problemBody(409, "binding_rotated", ""), true, "took its place", ""},
		"binding deleted":        {"rotate_credentials", theBinding, "POST /v1/bindings/" + bindingID + "/rotate", 409, problemBody(409, "binding_deleted", ""), true, "list_bindings", ""},
		"unknown binding":        {"delete_binding", theBinding, "DELETE /v1/bindings/" + bindingID, 404, problemBody(404, "not_found", ""), true, "list_bindings", ""},
		"cancel of a finished":   {"cancel_job", theJob, "POST /v1/jobs/" + jobID + "/cancel", 409, problemBody(409, "job_finished", ""), true, "deprovision_instance", ""},
		"update canceled":        {"get_job", theJob, jobRoute, 200, job("update", "canceled"), false, "check_instance", "Nothing is left"},
		"deletion canceled":      {"get_job", theJob, jobRoute, 200, job("deprovision", "canceled"), false, "get_instance", "Nothing is left"},
		"start not answered":     {"get_job", theJob, jobRoute, 200, notAnswered, false, "start_provision again", ""},
		"not active":             {"create_binding", theInstance, "POST /v1/instances/" + instanceID + "/bindings", 409, problemBody(409, "instance_not_active", ""), true, "get_instance", ""},
		"protected":              {"deprovision_instance", theInstance, "DELETE /v1/instances/" + instanceID, 409, problemBody(409, "deletion_protected", ""), true, "deletion_protection false", ""},
		"plan removed":           {"update_instance", theInstance, patchRoute, 409, problemBody(409, "plan_removed", ""), true, "not changed", ""},
		"plan change":            {"update_instance", theInstance, patchRoute, 422, problemBody(422, "plan_change_not_allowed", ""), true, "updates_to", ""},
		"not repeatable":         {"update_instance", theInstance, patchRoute, 409, problemBody(409, "update_not_repeatable", ""), true, "Do not repeat", ""},
		"for a person":           {"update_instance", theInstance, patchRoute, 403, problemBody(403, "person_required", ""), true, "key of their own", "answer_url"},
		"needs input":            {"start_provision", map[string]any{"service": "postgres", "plan": "small"}, "POST /v1/instances", 422, problemBody(422, "input_required", ""), true, "on_question", ""},
		"preflight of an update": {"update_instance", map[string]any{"instance_id": instanceID, "validate_only": true}, patchRoute, 200, validBody, false, "call update_instance without validate_only", ""},
		"preflight of a delete":  {"deprovision_instance", map[string]any{"instance_id": instanceID, "validate_only": true}, "DELETE /v1/instances/" + instanceID, 200, validBody, false, "call deprovision_instance without", "answers"},
		"person confirms":        {"deprovision_instance", map[string]any{"instance_id": instanceID, "validate_only": true}, "DELETE /v1/instances/" + instanceID, 200, confirmBody, false, "page", "answers"},
		"person decides":         {"update_instance", map[string]any{"instance_id": instanceID, "validate_only": true}, patchRoute, 200, confirmBody, false, "neither secret nor a person's", ""},
		"no job":                 {"update_instance", theInstance, patchRoute, 200, instanceBody, false, "no job was needed", "get_job"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newRecorder()
			api.set(tt.route, tt.status, tt.body)
			got, isError := use(t, connect(t, newFacade(t, api)), tt.tool, tt.args)
			next := got["next_step"].(string)
			if isError != tt.isError || !strings.Contains(next, tt.want) || tt.not != "" && strings.Contains(next, tt.not) {
				t.Errorf("isError %t, next step %q", isError, next)
			}
		})
	}
}

const (
	bindingsRoute = "GET /v1/instances/" + instanceID + "/bindings"

	patchRoute = "PATCH /v1/instances/" + instanceID
	validBody  = `{"valid":true,"blockers":[],"questions":[],"external_names":[]}`

	confirmBody = `{"valid":true,"blockers":[],"questions":[{"name":"confirm_destroy","message":"m","schema":{},"secret":false,` +
		`"answerable_by":"person"}],"external_names":[]}`
)

// The end of an instance is put off by seconds and taken away by 0, which is the API's null.
func TestExpiryThroughATool(t *testing.T) {
	t.Parallel()
	for given, want := range map[int]string{0: `{"expires_in":null}`, 60: `{"expires_in":60}`} {
		api := newRecorder()
		use(t, connect(t, newFacade(t, api)), "update_instance", map[string]any{"instance_id": instanceID, "expires_in": given})
		if !strings.Contains(api.asked(), want) {
			t.Errorf("expires_in %d: the API was asked %s", given, api.asked())
		}
	}
}

// An update asks as a start does, by the job that it has started; one that needs no job asks nothing.
func TestUpdateAsks(t *testing.T) {
	t.Parallel()
	const arguments = `"instance_id":"` + instanceID + `","plan":"large"`
	api := newRecorder().settles()
	api.set(patchRoute, http.StatusAccepted, jobBody("awaiting_input"))
	handler := newFacade(t, api)
	asked := resultOf(t, callTool(t, handler, canForm, "update_instance", arguments, ""))
	if isPlain(asked) {
		t.Fatalf("%v", asked)
	}
	answered := resultOf(t, callTool(t, handler, canForm, "update_instance", arguments, retry(t, asked["requestState"], accepted)))
	if !isPlain(answered) || strings.Count(api.asked(), "PATCH ") != 1 {
		t.Errorf("%v after %s", answered, api.asked())
	}
	if asData := resultOf(t, callTool(t, handler, canForm, "update_instance", arguments+`,"elicit":false`, "")); !isPlain(asData) {
		t.Errorf("%v", asData)
	}
	api.set(patchRoute, http.StatusOK, instanceBody)
	if done := resultOf(t, callTool(t, handler, canForm, "update_instance", arguments, "")); !isPlain(done) {
		t.Errorf("%v", done)
	}
	api.set(patchRoute, http.StatusAccepted, jobBody("pending"))
	if task := resultOf(t, callTool(t, handler, canTasks, "update_instance", arguments, "")); task["resultType"] != "task" || task["taskId"] != jobID {
		t.Errorf("%v", task)
	}
}

// The version of an instance is shown by its tools and taken back, with quotes or without.
func TestVersionOfAnInstance(t *testing.T) {
	t.Parallel()
	for header, given := range map[string]string{`"17"`: `17`, `W/"18"`: `"18"`} {
		api := newRecorder()
		api.answered = http.Header{"Etag": {header}}
		api.set(patchRoute, http.StatusOK, instanceBody)
		session := connect(t, newFacade(t, api))
		want := strings.Trim(given, `"`)
		for tool, args := range map[string]map[string]any{
			"get_instance":    {"instance_id": instanceID},
			"update_instance": {"instance_id": instanceID, "if_match": given},
		} {
			if got, _ := use(t, session, tool, args); got["etag"] != want {
				t.Errorf("%s: the etag is %v, want %s", tool, got["etag"], want)
			}
		}
		if !strings.Contains(api.asked(), `If-Match "`+want+`"`) {
			t.Errorf("the API was asked: %s", api.asked())
		}
	}
}

// A call that is repeated by its key gets the job with its questions as data: the host has lost the form.
func TestRepeatByKeyAsksNothing(t *testing.T) {
	t.Parallel()
	const arguments = `"instance_id":"` + instanceID + `","idempotency_key":"k1"`
	for tool, route := range map[string]string{"update_instance": patchRoute, "deprovision_instance": "DELETE /v1/instances/" + instanceID} {
		api := newRecorder()
		api.set(route, http.StatusAccepted, jobBody("awaiting_input"))
		handler := newFacade(t, api)
		if asked := resultOf(t, callTool(t, handler, canForm, tool, arguments, "")); isPlain(asked) {
			t.Errorf("%s asks nothing: %v", tool, asked)
		}
		api.answered = http.Header{"Idempotency-Replayed": {"true"}}
		if again := resultOf(t, callTool(t, handler, canForm, tool, arguments, "")); !isPlain(again) {
			t.Errorf("%s asks again: %v", tool, again)
		}
	}
}

// Credentials that are on their way name the job to wait for.
func TestCredentialsThatAreNotReadyNameTheirJob(t *testing.T) {
	t.Parallel()
	api := newRecorder()
	pending := strings.Replace(bindingsBody, `"state":"active"`, `"state":"pending","job_id":"`+jobID+`"`, 1)
	api.set(bindingsRoute, http.StatusOK, pending)
	got, isError := use(t, connect(t, newFacade(t, api)), "get_credentials", map[string]any{"instance_id": instanceID})
	if !isError || got["code"] != "not_ready" || got["job_id"] != jobID || got["instance_id"] != instanceID {
		t.Errorf("isError %t: %v", isError, got)
	}
}

// The active binding may be older than a whole page of deleted ones.
func TestCredentialsOfAnOldBinding(t *testing.T) {
	t.Parallel()
	api := newRecorder()
	deleted := strings.Replace(bindingsBody, `"state":"active"`, `"state":"deleted"`, 1)
	api.set(bindingsRoute, http.StatusOK, strings.TrimSuffix(deleted, "}")+`,"next_cursor":"c2"}`)
	api.after[bindingsRoute] = func() { api.set(bindingsRoute, http.StatusOK, bindingsBody) }
	got, isError := use(t, connect(t, newFacade(t, api)), "get_credentials", map[string]any{"instance_id": instanceID})
	if isError || got["binding_id"] != bindingID || !strings.Contains(api.asked(), "cursor=c2") {
		t.Errorf("isError %t: %v", isError, got)
	}
}
