package jobs

import (
	"testing"
	"time"
)

// What a PATCH says that is so already changes nothing: no ETag, no event.
func TestPatchOfWhatIsSo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	j := f.start(t, StartRequest{Labels: map[string]string{"team": "shop", "tier": "a"}})
	f.claimed(t, j).run(t.Context())
	yes, no := true, false
	changes := func(r UpdateRequest) bool {
		t.Helper()
		before, events := f.instance(t, j.InstanceID), f.events(t, j.InstanceID, "instance.changed")
		r.InstanceID = j.InstanceID
		if _, err := f.Update(t.Context(), f.caller, r); err != nil {
			t.Fatal(err)
		}
		after := f.instance(t, j.InstanceID)
		changed := after.ETag() != before.ETag()
		mustBe(t, "an event", f.events(t, j.InstanceID, "instance.changed") > events, changed)
		return changed
	}
	for _, step := range []struct {
		what string
		r    UpdateRequest
		want bool
	}{
		{"no end", UpdateRequest{NoExpiry: true}, false},
		{"equal labels", UpdateRequest{Labels: map[string]string{"tier": "a", "team": "shop"}}, false},
		{"as unprotected as it is", UpdateRequest{Protected: &no}, false},
		{"all at once", UpdateRequest{NoExpiry: true, Labels: map[string]string{"team": "shop", "tier": "a"}, Protected: &no}, false},
		{"another label", UpdateRequest{Labels: map[string]string{"team": "shop"}, NoExpiry: true}, true},
		{"no labels", UpdateRequest{Labels: map[string]string{}}, true},
		{"no labels again", UpdateRequest{Labels: map[string]string{}}, false},
		{"protected", UpdateRequest{Protected: &yes}, true},
		{"an end", UpdateRequest{ExpiresIn: time.Hour, Protected: &no}, true},
		{"the end from now on", UpdateRequest{ExpiresIn: time.Hour}, true},
		{"no end any more", UpdateRequest{NoExpiry: true}, true},
	} {
		mustBe(t, step.what, changes(step.r), step.want)
	}
}
