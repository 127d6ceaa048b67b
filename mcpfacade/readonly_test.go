package mcpfacade_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/provisiond/provisiond/mcpfacade"
)

// Who asks for reading tools in a way that is not understood must not get all.
func TestReadOnlyMisspelt(t *testing.T) {
	t.Parallel()
	handler := newFacade(t, newRecorder())
	for query, status := range map[string]int{
		"read_only=true": http.StatusOK, "read_only=false": http.StatusOK, "other=1": http.StatusOK,
		"read_only=1": http.StatusBadRequest, "read_only=TRUE": http.StatusBadRequest, "read_only": http.StatusBadRequest,
		"readonly=true": http.StatusBadRequest, "Read-Only=true": http.StatusBadRequest,
		"read_only=false&read_only=true": http.StatusBadRequest,
	} {
		asked := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.URL.RawQuery = query
			handler.ServeHTTP(w, r)
		})
		if got := send(t, asked, rpc{version: modern, method: "tools/list"}); got.Code != status {
			t.Errorf("%s: %d %s", query, got.Code, got.Body)
		}
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	api := newRecorder()
	always, err := mcpfacade.New(mcpfacade.Config{API: api, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	onRequest := newFacade(t, api)
	for name, handler := range map[string]http.Handler{
		"always": always,
		"by query": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.URL.RawQuery = "read_only=true"
			onRequest.ServeHTTP(w, r)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := send(t, handler, rpc{version: modern, method: "tools/list"}).Body.String()
			if strings.Contains(list, `"readOnlyHint":false`) || strings.Contains(list, "start_provision\"") || !strings.Contains(list, `"get_job"`) || !strings.Contains(list, `"list_bindings"`) {
				t.Errorf("tools/list: %s", list)
			}
			for what, got := range map[string]*httptest.ResponseRecorder{
				"start_provision": callTool(t, handler, canTasks, "start_provision", `"service":"postgres","plan":"small"`, ""),
				"check_instance":  callTool(t, handler, `{}`, "check_instance", `"instance_id":"`+instanceID+`"`, ""),
				"cancel_job":      callTool(t, handler, `{}`, "cancel_job", theJob, ""),
			} {
				if got.Code < http.StatusBadRequest || !strings.Contains(got.Body.String(), "-326") {
					t.Errorf("%s: %d %s", what, got.Code, got.Body)
				}
			}
			for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
				got := taskCall(t, handler, canTasks, method, "")
				if got.Code != http.StatusNotFound || !strings.Contains(got.Body.String(), `"code":-32601`) {
					t.Errorf("%s: %d %s", method, got.Code, got.Body)
				}
			}
			// An answer is no reading, so nothing is asked and none is taken.
			if got := callTool(t, handler, canBoth, "get_job", theJob, retry(t, "x", accepted)); !isPlain(resultOf(t, got)) {
				t.Errorf("get_job: %s", got.Body)
			}
		})
	}
	t.Cleanup(func() {
		if strings.Contains(api.asked(), "POST") {
			t.Errorf("the API was asked: %s", api.asked())
		}
	})
}
