package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/oapi-codegen/nullable"

	"github.com/provisiond/provisiond/client"
)

const bindingID = "bind_01h455vb4pex5vsknk084sn02q"

var instanceBody = fmt.Sprintf(`{"id":%q,"service":"postgres","plan":"small","state":"active","parameters":{},"labels":{},"job_id":%q,`+
	`"deletion_protection":false,"usable":true,"update_repeatable":true,"findings":[],`+
	`"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}`, instanceID, jobID)

const preflightBody = `{"valid":true,"blockers":[],"questions":[],"external_names":[{"kind":"database","name":"d"}]}`

func TestUpdate(t *testing.T) {
	t.Parallel()
	p := newPeer(t, job(http.StatusAccepted, "pending", 1), respond(http.StatusOK, "application/json", instanceBody),
		respond(http.StatusOK, "application/json", preflightBody), problem(http.StatusPreconditionFailed, "precondition_failed"))
	sdk, _ := newSDK(t, p.url)
	plan := "large"
	got, err := sdk.Update(t.Context(), instanceID, client.UpdateRequest{Plan: &plan})
	if err != nil || got.Instance != nil || got.Accepted.JobID != jobID || got.Accepted.Existing {
		t.Errorf("by a job: %+v %v", got, err)
	}
	forever := client.UpdateRequest{ExpiresIn: nullable.NewNullNullable[int]()}
	got, err = sdk.Update(t.Context(), instanceID, forever)
	if err != nil || got.Accepted != nil || got.Instance.ID != instanceID {
		t.Errorf("without a job: %+v %v", got, err)
	}
	preflight, err := sdk.PreflightUpdate(t.Context(), instanceID, forever)
	if err != nil || !preflight.Valid || preflight.ExternalNames[0].Name != "d" {
		t.Errorf("preflight: %+v %v", preflight, err)
	}
	_, err = sdk.Update(t.Context(), instanceID, forever, client.WithIfMatch(`"1"`))
	var refused *client.Problem
	if !errors.As(err, &refused) || refused.Code != "precondition_failed" {
		t.Errorf("stale: %v", err)
	}
	only := true
	if _, err = sdk.Update(t.Context(), instanceID, client.UpdateRequest{ValidateOnly: &only}); err == nil {
		t.Error("an update took validate_only")
	}
	seen := p.seen()
	if len(seen) != 4 || seen[3].Header.Get("If-Match") != `"1"` || seen[0].Method != http.MethodPatch || seen[0].Header.Get("Idempotency-Key") == "" {
		t.Errorf("the server was asked %v", seen)
	}
}

// Each call names the job that it has started or found.
func TestCallsOfALife(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		call func(*testing.T, *client.SDK) (*client.Accepted, error)
		want string
	}{
		"check": {func(t *testing.T, s *client.SDK) (*client.Accepted, error) {
			t.Helper()
			return s.Check(t.Context(), instanceID)
		}, "POST /v1/instances/" + instanceID + "/check"},
		"bind": {func(t *testing.T, s *client.SDK) (*client.Accepted, error) {
			t.Helper()
			return s.Bind(t.Context(), instanceID, client.BindRequest{})
		}, "POST /v1/instances/" + instanceID + "/bindings"},
		"rotate": {func(t *testing.T, s *client.SDK) (*client.Accepted, error) {
			t.Helper()
			return s.Rotate(t.Context(), bindingID, client.RotateRequest{})
		}, "POST /v1/bindings/" + bindingID + "/rotate"},
		"unbind": {func(t *testing.T, s *client.SDK) (*client.Accepted, error) {
			t.Helper()
			return s.Unbind(t.Context(), bindingID)
		}, "DELETE /v1/bindings/" + bindingID},
		"deprovision": {func(t *testing.T, s *client.SDK) (*client.Accepted, error) {
			t.Helper()
			return s.Deprovision(t.Context(), instanceID)
		}, "DELETE /v1/instances/" + instanceID},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, job(http.StatusAccepted, "pending", 1), job(http.StatusOK, "pending", 1), problem(http.StatusConflict, "instance_not_active"))
			sdk, _ := newSDK(t, p.url)
			for _, existing := range []bool{false, true} {
				got, err := tt.call(t, sdk)
				if err != nil || got.JobID != jobID || got.Existing != existing {
					t.Errorf("%+v %v", got, err)
				}
			}
			_, err := tt.call(t, sdk)
			var refused *client.ProblemError
			if !errors.As(err, &refused) || refused.Code != "instance_not_active" {
				t.Errorf("got %v", err)
			}
			if r := p.seen()[0]; r.Method+" "+r.URL.Path != tt.want {
				t.Errorf("the server was asked %s %s", r.Method, r.URL)
			}
		})
	}
}

func TestPreflightDeprovision(t *testing.T) {
	t.Parallel()
	p := newPeer(t, respond(http.StatusOK, "application/json", preflightBody), problem(http.StatusNotFound, "not_found"))
	sdk, _ := newSDK(t, p.url)
	if got, err := sdk.PreflightDeprovision(t.Context(), instanceID); err != nil || !got.Valid {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := sdk.PreflightDeprovision(t.Context(), instanceID); err == nil || !strings.Contains(err.Error(), "not_found") {
		t.Errorf("got %v", err)
	}
	if query := p.seen()[0].URL.RawQuery; query != "validate_only=true" {
		t.Errorf("the query is %q", query)
	}
}
