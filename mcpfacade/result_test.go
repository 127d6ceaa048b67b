package mcpfacade_test

import (
	"fmt"
	"testing"
)

// What the API says of a header or a query is about an argument of the tool.
func TestErrorsNameArguments(t *testing.T) {
	t.Parallel()
	for api, want := range map[string]string{
		"query/state": "/state", "path/instance_id": "/instance_id", "header/Idempotency-Key": "/idempotency_key", "header/If-Match": "/if_match",
		"/parameters/query/a": "/parameters/query/a", "": "",
	} {
		recorder := newRecorder()
		recorder.set("GET /v1/jobs", 400, problemBody(400, "invalid_request", fmt.Sprintf(`,"errors":[{"pointer":%q,"detail":"d"}]`, api)))
		got, isError := use(t, connect(t, newFacade(t, recorder)), "list_jobs", nil)
		errors, _ := got["errors"].([]any)
		if !isError || len(errors) != 1 || errors[0].(map[string]any)["pointer"] != want {
			t.Errorf("%s: %v, want %s", api, got, want)
		}
	}
}
