package jobs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/provider"
)

// Faults that users of other provisioning services have reported.

// A removed plan takes no new instances; the old ones are read, bound, checked and deleted, and not
// changed. Of a removed service the instances can be read, and their deletion waits.
func TestRemovedPlanAndService(t *testing.T) {
	t.Parallel()
	f, j := newLife(t, "small")
	f.caller = f.newCaller(t, "acme", KindPerson)
	full := f.Service
	f.Service = f.withCatalog(t, strings.Replace(lifeCatalog, "id: small", "id: other", 1))
	f.run(t)
	f.work(t)

	_, err := f.Start(t.Context(), f.caller, StartRequest{Service: "thing", Plan: "small"})
	mustCode(t, err, UnknownPlan)
	_, err = f.Update(t.Context(), f.caller, UpdateRequest{InstanceID: j.InstanceID, Parameters: map[string]any{"size": 2}})
	mustCode(t, err, PlanRemoved)
	if _, err = f.Update(t.Context(), f.caller, UpdateRequest{InstanceID: j.InstanceID, Labels: map[string]string{"a": "b"}}); err != nil {
		t.Errorf("labels: %v", err)
	}
	f.done(f.bind(t, BindRequest{InstanceID: j.InstanceID}))
	check, err := f.Check(t.Context(), f.caller, CheckRequest{InstanceID: j.InstanceID})
	f.done(t, check, err)

	none := f.withCatalog(t, strings.ReplaceAll(lifeCatalog, "id: thing", "id: other"))
	_, err = none.Bind(t.Context(), f.caller, BindRequest{InstanceID: j.InstanceID})
	mustCode(t, err, PlanRemoved)
	if _, err = none.GetInstance(t.Context(), f.caller, j.InstanceID); err != nil {
		t.Error(err)
	}
	f.Service = full
	deleted, err := f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID})
	f.done(t, deleted, err)
}

// A schema that has become narrower leaves the parameters of living instances valid until they are changed.
func TestOldParametersStayValid(t *testing.T) {
	t.Parallel()
	f, j := newLife(t, "small")
	f.untilState(t, f.update(t, UpdateRequest{InstanceID: j.InstanceID, Parameters: map[string]any{"size": 9}}).ID, Succeeded)
	f.Service = f.withCatalog(t, strings.Replace(lifeCatalog, "maximum: 9", "maximum: 5", 1))
	f.run(t)
	f.work(t)
	f.untilState(t, f.update(t, UpdateRequest{InstanceID: j.InstanceID, Parameters: map[string]any{"token": canary}}).ID, Succeeded)
	_, err := f.Update(t.Context(), f.caller, UpdateRequest{InstanceID: j.InstanceID, Parameters: map[string]any{"size": 8}})
	mustCode(t, err, InvalidRequest)
}

// What nobody can tell about one instance does not hold up the tenant's others.
func TestOneUnknownObjectBlocksNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var stuck atomic.Value
	stuck.Store("")
	f.back.provision = func(_ context.Context, r *provider.Request) error {
		if stuck.CompareAndSwap("", r.InstanceID) || stuck.Load() == r.InstanceID {
			return &provider.Error{Code: provider.ErrNeedsOperator, Message: "Cannot tell."}
		}
		return nil
	}
	f.run(t)
	f.work(t)
	first := f.start(t, StartRequest{})
	f.untilState(t, first.ID, Failed)
	for range 3 {
		f.untilState(t, f.start(t, StartRequest{}).ID, Succeeded)
	}
	mustBe(t, "touched by a clean-up", f.back.count("deprovision"), 0)
}

// A back end that takes one operation at a time gets all of them done.
func TestBackEndThatTakesOneAtATime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one := make(chan struct{}, 1)
	f.back.provision = func(context.Context, *provider.Request) error {
		select {
		case one <- struct{}{}:
			defer func() { <-one }()
			return nil
		default:
			return &provider.Error{Code: provider.ErrConflict, Message: "Another operation runs.", Retryable: true}
		}
	}
	f.run(t)
	f.work(t)
	var ids []string
	for range 20 {
		ids = append(ids, f.start(t, StartRequest{}).ID)
	}
	for _, id := range ids {
		f.untilState(t, id, Succeeded)
	}
	mustBe(t, "instances", f.back.left(), len(ids))
}

// A bind made again gives its job and never the credentials, to keys of the tenant alone.
func TestReplayedBindGivesNoCredentials(t *testing.T) {
	t.Parallel()
	f, j := newLife(t, "small")
	r := BindRequest{InstanceID: j.InstanceID, Name: "app", IdempotencyKey: "k"}
	first := f.done(f.bind(t, r))
	again, err := f.Bind(t.Context(), f.caller, r)
	if err != nil || !again.Replayed || again.Job.ID != first.ID || strings.Contains(show(again.Job), canary) {
		t.Errorf("%s %v", show(again.Job), err)
	}
	stranger := f.newCaller(t, "other", KindAgent)
	_, err = f.Bind(t.Context(), stranger, r)
	mustCode(t, err, NotFound)
	_, err = f.ReadCredentials(t.Context(), stranger, first.BindingID)
	mustCode(t, err, NotFound)
	for range 2 {
		c, err := f.ReadCredentials(t.Context(), f.caller, first.BindingID)
		if err != nil || c.Values["binding"] != first.BindingID {
			t.Errorf("%v %v", c.BindingID, err)
		}
	}
	mustBe(t, "audited reads", f.events(t, j.InstanceID, "credentials.read"), 2)
}

// Preflights say all that stands in the way, and make nothing.
func TestPreflights(t *testing.T) {
	t.Parallel()
	f, j := newLife(t, "small")
	before := f.instance(t, j.InstanceID)
	p, err := f.Preflight(t.Context(), f.caller, StartRequest{Service: "thing", Plan: "paid", Name: "shop", FailOnQuestion: true, Bind: true,
		Parameters: map[string]any{"size": 99, "colour": "red"}})
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, b := range p.Blockers {
		codes = append(codes, string(b.Code)+" "+b.Pointer+" "+string(b.ClearedBy))
	}
	for _, want := range []string{
		"invalid_request /parameters/colour caller", "invalid_request /parameters/size caller",
		"input_required /answers/confirm_cost caller", "name_taken /name caller",
	} {
		if !slices.Contains(codes, want) {
			t.Errorf("no %q in %q", want, codes)
		}
	}
	mustBe(t, "name", p.Objects[0].Name, "inst_{instance_id}")
	mustBe(t, "price", p.Price.Amount, "5.00")

	p, err = f.PreflightDelete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID, IfMatch: `"1"`})
	if err != nil || len(p.Blockers) != 1 || p.Blockers[0].Code != PreconditionFailed || len(p.Questions) != 1 || !p.Questions[0].PersonOnly {
		t.Errorf("%+v %v", p, err)
	}
	mustBe(t, "object", p.Objects[0].Name, j.InstanceID)
	if after := f.instance(t, j.InstanceID); after.ETag() != before.ETag() || after.State != InstanceActive {
		t.Errorf("a preflight has changed %+v", after)
	}
	_, err = f.PreflightDelete(t.Context(), f.newCaller(t, "other", KindPerson), DeleteRequest{InstanceID: j.InstanceID})
	if !errors.Is(err, NotFound) {
		t.Error(err)
	}
}

// A job in the way that awaits an answer does not go by itself: who may answer clears it away.
func TestPreflightSaysWhoClearsTheJobInTheWay(t *testing.T) {
	t.Parallel()
	f, j := newLife(t, "small")
	inTheWay := func(what string, by Clearer, jobID string) {
		t.Helper()
		p, err := f.PreflightUpdate(t.Context(), f.caller, UpdateRequest{InstanceID: j.InstanceID, Parameters: map[string]any{"size": 5}})
		if err != nil || len(p.Blockers) != 1 {
			t.Fatalf("%s: %+v, %v", what, p.Blockers, err)
		}
		mustBe(t, what, p.Blockers[0].ClearedBy, by)
		mustBe(t, what, p.Blockers[0].JobID, jobID)
	}
	paid := f.update(t, UpdateRequest{InstanceID: j.InstanceID, Plan: "paid"})
	inTheWay("a price", ByCaller, paid.ID)
	if _, err := f.Cancel(t.Context(), f.caller, paid.ID, ""); err != nil {
		t.Fatal(err)
	}
	destroy := f.deleting(t, j)
	inTheWay("a deletion to confirm", ByPerson, destroy.ID)
	if _, err := f.Cancel(t.Context(), f.caller, destroy.ID, ""); err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	defer close(release)
	f.back.update = func(context.Context, *provider.Request) error { <-release; return nil }
	runs := f.update(t, UpdateRequest{InstanceID: j.InstanceID, Plan: "large"})
	inTheWay("one that works", ByWaiting, runs.ID)
}

// What stands against a change of plan hides nothing else that stands in the way.
func TestPreflightOfAnUpdateGoesOnAfterThePlan(t *testing.T) {
	t.Parallel()
	f, j := newLife(t, "small")
	wrong := map[string]any{"size": 99, "region": "us", "owner": "me"}
	for plan, code := range map[string]Code{"huge": UnknownPlan, "brief": PlanChangeNotAllowed} {
		p, err := f.PreflightUpdate(t.Context(), f.caller, UpdateRequest{InstanceID: j.InstanceID, Plan: plan, Parameters: wrong,
			Answers: map[string]any{"confirm_cost": true}, ExpiresIn: 2 * maxExpiry})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range p.Blockers {
			got = append(got, string(b.Code)+" "+b.Pointer)
		}
		want := []string{
			"invalid_request /expires_in", string(code) + " /plan",
			"person_required /parameters/owner", "invalid_request /parameters/region", "invalid_request /parameters/size",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", plan, diff)
		}
		if p.Price != nil || len(p.Questions) > 0 {
			t.Errorf("%s: asks %v for %v of a change that cannot be", plan, p.Questions, p.Price)
		}
	}
}
