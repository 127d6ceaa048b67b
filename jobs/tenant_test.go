package jobs

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// What belongs to another tenant is not found, by the same error as what does not exist.
func TestAnotherTenantFindsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	f.work(t)
	j := f.untilState(t, f.start(t, StartRequest{Name: "orders", Bind: true}).ID, Succeeded)
	open := f.start(t, StartRequest{Plan: "paid"})
	stranger := f.newCaller(t, "stranger", KindAdmin)
	ctx := t.Context()
	calls := map[string]func(Caller, string) error{
		"get":    func(c Caller, id string) error { _, err := f.Get(ctx, c, id); return err },
		"wait":   func(c Caller, id string) error { _, err := f.Wait(ctx, c, id, 0, time.Minute); return err },
		"events": func(c Caller, id string) error { _, err := f.ListEvents(ctx, c, id, PageRequest{}); return err },
		"cancel": func(c Caller, id string) error { _, err := f.Cancel(ctx, c, id, ""); return err },
		"answer": func(c Caller, id string) error {
			return f.answerTo(t, c, id, open.Questions[0].ID, map[string]any{"confirm": true})
		},
		"instance":    func(c Caller, id string) error { _, err := f.GetInstance(ctx, c, id); return err },
		"delete":      func(c Caller, id string) error { _, err := f.Delete(ctx, c, DeleteRequest{InstanceID: id}); return err },
		"bindings":    func(c Caller, id string) error { _, err := f.ListBindings(ctx, c, id, PageRequest{}); return err },
		"binding":     func(c Caller, id string) error { _, err := f.GetBinding(ctx, c, id); return err },
		"credentials": func(c Caller, id string) error { _, err := f.ReadCredentials(ctx, c, id); return err },
	}
	ids := map[string]string{
		"get": j.ID, "wait": open.ID, "events": j.ID, "cancel": open.ID, "answer": open.ID,
		"instance": j.InstanceID, "delete": j.InstanceID, "bindings": j.InstanceID, "binding": j.BindingID, "credentials": j.BindingID,
	}
	for name, call := range calls {
		foreign := call(stranger, ids[name])
		absent := call(f.caller, ids[name][:5]+strings.Repeat("0", len(ids[name])-5))
		mustCode(t, foreign, NotFound)
		mustBe(t, name, foreign.Error(), absent.Error())
	}
	jobs, _ := f.ListJobs(ctx, stranger, JobFilter{}, PageRequest{})
	instances, _ := f.ListInstances(ctx, stranger, InstanceFilter{}, PageRequest{})
	mustBe(t, "listed", len(jobs.Items)+len(instances.Items), 0)
}

func TestKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	ctx := t.Context()
	admin := NewAdmin(f.pool)
	key, token, err := admin.CreateKey(ctx, NewKey{TenantID: f.caller.TenantID, Name: "x", Kind: KindAgent, Scopes: []string{ScopeJobsRead}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(token, "prov_agent_") {
		t.Errorf("a key begins with %q", token[:11])
	}
	c, err := f.Authenticate(ctx, token)
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "may read jobs", c.Can(ScopeJobsRead), true)
	mustBe(t, "may read credentials", c.Can(ScopeCredentialsRead), false)

	mistyped := token[:20] + string(token[20]^1) + token[21:]
	for _, bad := range []string{"", "x", "prov_", "prov_agent__00000000", mistyped, strings.Repeat("a", 10_000), newKeyToken(KindAdmin)} {
		_, err := f.Authenticate(ctx, bad)
		mustCode(t, err, Unauthenticated)
	}

	other := f.withCatalog(t, testCatalog) // a replica that has the key in its cache
	if _, err := other.Authenticate(ctx, token); err != nil {
		t.Fatal(err)
	}
	if err := admin.RevokeKey(ctx, key.ID); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for _, s := range []*Service{f.Service, other} {
		for !errors.Is(authError(t, s, token), Unauthenticated) {
			if time.Now().After(deadline) {
				t.Fatal("a revoked key goes on")
			}
		}
	}
	mustCode(t, admin.RevokeKey(ctx, newID("key")), NotFound)

	past := time.Now().Add(-time.Minute)
	_, expired, err := admin.CreateKey(ctx, NewKey{TenantID: f.caller.TenantID, Name: "old", Kind: KindPerson, ExpiresAt: &past})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Authenticate(ctx, expired)
	mustCode(t, err, Unauthenticated)
	_, _, err = admin.CreateKey(ctx, NewKey{TenantID: f.caller.TenantID, Kind: "robot"})
	mustCode(t, err, InvalidRequest)
	_, _, err = admin.CreateKey(ctx, NewKey{TenantID: f.caller.TenantID, Kind: KindAgent, Scopes: []string{"everything"}})
	mustCode(t, err, InvalidRequest)
}

func authError(t *testing.T, s *Service, token string) error {
	t.Helper()
	_, err := s.Authenticate(t.Context(), token)
	return err
}

func TestCursors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	for range 5 {
		f.start(t, StartRequest{Labels: map[string]string{"team": "shop"}})
	}
	f.start(t, StartRequest{})
	filter := JobFilter{Labels: map[string]string{"team": "shop"}}
	seen := map[string]bool{}
	var p PageRequest
	p.Limit = 2
	for {
		page, err := f.ListJobs(ctx, f.caller, filter, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range page.Items {
			seen[j.ID] = true
		}
		if page.NextCursor == "" {
			break
		}
		p.Cursor = page.NextCursor
	}
	mustBe(t, "jobs with the label", len(seen), 5)

	_, err := f.ListJobs(ctx, f.caller, JobFilter{}, p)
	mustCode(t, err, InvalidCursor)
	_, err = f.ListJobs(ctx, f.newCaller(t, "other", KindAgent), filter, p)
	mustCode(t, err, InvalidCursor)
	_, err = f.ListInstances(ctx, f.caller, InstanceFilter{}, p)
	mustCode(t, err, InvalidCursor)
	for _, bad := range []string{"x", "!", "AAAA", strings.Repeat("A", 500)} {
		_, err = f.ListJobs(ctx, f.caller, filter, PageRequest{Cursor: bad})
		mustCode(t, err, InvalidCursor)
	}

	j, _ := f.ListJobs(ctx, f.caller, filter, PageRequest{Limit: 1})
	if _, err := f.Cancel(ctx, f.caller, j.Items[0].ID, ""); err != nil {
		t.Fatal(err)
	}
	events, err := f.ListEvents(ctx, f.caller, j.Items[0].ID, PageRequest{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "first event", events.Items[0].Type, "job.started")
	events, err = f.ListEvents(ctx, f.caller, j.Items[0].ID, PageRequest{Cursor: events.NextCursor})
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "second event", events.Items[0].Type, "job.cancel_requested")
}

func FuzzCursor(f *testing.F) {
	list := listKey{"jobs", "tnt_x", JobFilter{}}
	good, _ := encodeCursor(list, "job_01h455vb4pex5vsknk084sn02q")
	f.Add(good)
	f.Add("")
	f.Add("AAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, cursor string) {
		after, err := decodeCursor(list, cursor)
		if err != nil {
			mustCode(t, err, InvalidCursor)
			return
		}
		if again, _ := encodeCursor(list, after); cursor != "" && again != cursor {
			t.Errorf("%q decodes to %q, which is another cursor", cursor, after)
		}
	})
}

func FuzzKey(f *testing.F) {
	f.Add(newKeyToken(KindAgent))
	f.Add("prov_agent__00000000")
	f.Fuzz(func(t *testing.T, token string) {
		if wellFormedKey(token) && newKeyTokenBody(token) == "" {
			t.Errorf("%q is taken for a key", token)
		}
	})
}

func newKeyTokenBody(token string) string {
	body, _, _ := cutLast(token, "_")
	return strings.TrimPrefix(body, "prov_")
}
