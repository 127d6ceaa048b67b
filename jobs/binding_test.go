package jobs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/provisiond/provisiond/provider"
)

// The name of a live binding is not taken for one with other options, also where a rotation has changed them.
func TestBindWithATakenName(t *testing.T) {
	t.Parallel()
	f, j := newLife(t, "small")
	taken := func(by Job, lives time.Duration) {
		t.Helper()
		_, err := f.Bind(t.Context(), f.caller, BindRequest{InstanceID: j.InstanceID, Name: "app", ExpiresIn: lives})
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Code != NameTaken || e.InstanceID != j.InstanceID || e.BindingID != by.BindingID || e.JobID != by.ID {
			t.Errorf("for %s: %+v", lives, err)
		}
	}
	release := make(chan struct{})
	f.back.bind = func(context.Context, *provider.Request) error { <-release; return nil }
	_, res, err := f.bind(t, BindRequest{InstanceID: j.InstanceID, Name: "app", ExpiresIn: 40 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	taken(res.Job, 0) // also while it is made
	close(release)
	first := f.done(t, res, nil)
	taken(first, 0)
	taken(first, 40*24*time.Hour+time.Second)

	res, err = f.Rotate(t.Context(), f.caller, RotateRequest{BindingID: first.BindingID})
	rotated := f.done(t, res, err)
	taken(rotated, 40*24*time.Hour)
	again, err := f.Bind(t.Context(), f.caller, BindRequest{InstanceID: j.InstanceID, Name: "app"})
	if err != nil || !again.Existing || again.Job.ID != rotated.ID {
		t.Errorf("an equal one: %+v %v", again, err)
	}
}
