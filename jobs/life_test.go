package jobs

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/provider"
)

const lifeCatalog = `
services:
  - id: thing
    name: Thing
    driver: scripted
    plans:
      - id: small
        name: Small
        updates_to: [large, paid]
        parameters: &parameters
          properties:
            size: { type: integer, minimum: 1, maximum: 9, default: 1, x-mutable: true }
            region: { type: string, default: eu }
            owner: { type: string, x-mutable: true, x-answerable-by: person }
            token: { type: string, writeOnly: true, x-mutable: true }
        settings: { cpu: 1 }
      - { id: large, name: Large, parameters: *parameters, settings: { cpu: 4 } }
      - { id: paid, name: Paid, price: { amount: "5.00", currency: USD, per: month }, confirm_cost: true, parameters: *parameters }
      - { id: brief, name: Brief, expiry: { default: 1h, max: 2h, warning: 10m }, check_every: 1h, confirm_destroy: false }
`

// newLife is a fixture with a worker, and an active instance of the plan.
func newLife(t *testing.T, plan string) (*fixture, Job) {
	t.Helper()
	f := newFixture(t)
	f.Service = f.withCatalog(t, lifeCatalog)
	f.run(t)
	f.work(t)
	j := f.start(t, StartRequest{Plan: plan, Name: "shop", Bind: true})
	return f, f.untilState(t, j.ID, Succeeded)
}

func (f *fixture) instance(t testing.TB, id string) Instance {
	t.Helper()
	in, err := f.GetInstance(t.Context(), f.caller, id)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// done follows the job that a call has begun to its end.
func (f *fixture) done(t testing.TB, r Result, err error) Job {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return f.untilState(t, r.Job.ID, Succeeded)
}

func (f *fixture) update(t testing.TB, r UpdateRequest) Job {
	t.Helper()
	res, err := f.Update(t.Context(), f.caller, r)
	if err != nil {
		t.Fatal(err)
	}
	if res.Job == nil {
		t.Fatal("the update needed no job")
	}
	return *res.Job
}

func TestUpdateOfPlanAndParameters(t *testing.T) {
	t.Parallel()
	f, j := newLife(t, "small")
	var got provider.Request
	f.back.update = func(_ context.Context, r *provider.Request) error { got = *r; return nil }
	up := f.update(t, UpdateRequest{InstanceID: j.InstanceID, Plan: "large", Parameters: map[string]any{"size": 3, "token": canary}})
	mustBe(t, "operation", up.Operation, OpUpdate)
	f.untilState(t, up.ID, Succeeded)

	mustBe(t, "settings", string(got.Settings), `{"cpu":4}`)
	mustBe(t, "previous settings", string(got.Previous.Settings), `{"cpu": 1}`)
	if diff := cmp.Diff([]any{float64(3), "eu", canary, float64(1)},
		[]any{got.Parameters["size"], got.Parameters["region"], got.Parameters["token"], got.Previous.Parameters["size"]}); diff != "" {
		t.Error(diff)
	}
	in := f.instance(t, j.InstanceID)
	mustBe(t, "plan", in.Plan, "large")
	mustBe(t, "endpoint", in.Endpoint["host"], "updated")
	if diff := cmp.Diff(map[string]any{"size": float64(3), "region": "eu"}, in.Parameters); diff != "" {
		t.Error(diff)
	}
	var change []byte
	if err := f.pool.QueryRow(t.Context(), `SELECT change FROM job WHERE id = $1`, up.ID).Scan(&change); err != nil || len(change) == 0 {
		t.Errorf("change %q, %v", change, err)
	}
}

// What an update is refused for, all at once, with nothing changed.
func TestUpdateRefusals(t *testing.T) {
	t.Parallel()
	f, j := newLife(t, "small")
	before := f.instance(t, j.InstanceID)
	yes := true
	for name, tt := range map[string]struct {
		r    UpdateRequest
		code Code
		at   []string // pointers
	}{
		"unknown plan":       {UpdateRequest{Plan: "huge"}, UnknownPlan, []string{"/plan"}},
		"not allowed":        {UpdateRequest{Plan: "brief"}, PlanChangeNotAllowed, []string{"/plan"}},
		"fixed":              {UpdateRequest{Parameters: map[string]any{"region": "us"}}, InvalidRequest, []string{"/parameters/region"}},
		"unknown parameter":  {UpdateRequest{Parameters: map[string]any{"colour": "red"}}, InvalidRequest, []string{"/parameters/colour"}},
		"for a person":       {UpdateRequest{Parameters: map[string]any{"owner": "me"}}, PersonRequired, []string{"/parameters/owner"}},
		"two faults":         {UpdateRequest{Parameters: map[string]any{"size": 99, "region": "us"}}, InvalidRequest, []string{"/parameters/region", "/parameters/size"}},
		"stale":              {UpdateRequest{IfMatch: `"1"`, Parameters: map[string]any{"size": 2}}, PreconditionFailed, nil},
		"too long":           {UpdateRequest{ExpiresIn: 20 * 365 * 24 * time.Hour}, InvalidRequest, []string{"/expires_in"}},
		"protected and ends": {UpdateRequest{ExpiresIn: time.Hour, Protected: &yes}, InvalidRequest, []string{"/deletion_protection"}},
		"price unconfirmed":  {UpdateRequest{Plan: "paid", FailOnQuestion: true}, InputIsRequired, []string{"/answers/confirm_cost"}},
		"stray answer":       {UpdateRequest{Plan: "large", Answers: map[string]any{"size": 2}}, InvalidRequest, []string{"/answers/size"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.r.InstanceID = j.InstanceID
			_, err := f.Update(t.Context(), f.caller, tt.r)
			mustCode(t, err, tt.code)
			e, _ := errors.AsType[*Error](err)
			var at []string
			for _, field := range e.Fields {
				at = append(at, field.Pointer)
			}
			if diff := cmp.Diff(tt.at, at); diff != "" {
				t.Errorf("%v: %s", err, diff)
			}
			pre, err := f.PreflightUpdate(t.Context(), f.caller, tt.r)
			if err != nil || len(pre.Blockers) == 0 || pre.Blockers[0].Code != tt.code {
				t.Errorf("preflight says %+v, %v", pre, err)
			}
		})
	}
	if diff := cmp.Diff(before, f.instance(t, j.InstanceID)); diff != "" {
		t.Errorf("the instance has changed: %s", diff)
	}
	res, err := f.Update(t.Context(), f.caller, UpdateRequest{InstanceID: j.InstanceID, Parameters: map[string]any{"size": 1}})
	if err != nil || res.Job != nil {
		t.Errorf("an update that changes nothing: %+v %v", res, err)
	}
}

func TestUpdateAsksForThePrice(t *testing.T) {
	t.Parallel()
	f, j := newLife(t, "small")
	up := f.update(t, UpdateRequest{InstanceID: j.InstanceID, Plan: "paid"})
	mustBe(t, "state", up.State, AwaitingInput)
	if _, err := f.Bind(t.Context(), f.caller, BindRequest{InstanceID: j.InstanceID}); !errors.Is(err, OperationInProgress) {
		t.Errorf("bind meanwhile: %v", err)
	}
	if err := f.answer(t, f.caller, up, "confirm_cost", map[string]any{"confirm": true}); err != nil {
		t.Fatal(err)
	}
	f.untilState(t, up.ID, Succeeded)
	mustBe(t, "plan", f.instance(t, j.InstanceID).Plan, "paid")
	// Confirmed in advance it asks nothing; and parameters alone cost nothing more.
	up = f.update(t, UpdateRequest{InstanceID: j.InstanceID, Parameters: map[string]any{"size": 5}})
	f.untilState(t, up.ID, Succeeded)
}

func TestUpdateThatFailsLeavesTheInstanceAsItWas(t *testing.T) {
	t.Parallel()
	f, j := newLife(t, "small")
	f.back.update = func(context.Context, *provider.Request) error {
		return &provider.Error{Code: "broken", Message: "Broken.", Unusable: true, NotRepeatable: true}
	}
	request := UpdateRequest{InstanceID: j.InstanceID, Plan: "large"}
	up := f.update(t, request)
	f.untilState(t, up.ID, Failed)
	in := f.instance(t, j.InstanceID)
	if in.Plan != "small" || in.State != InstanceActive || in.Usable || in.UpdateRepeatable {
		t.Errorf("%+v", in)
	}
	_, err := f.Update(t.Context(), f.caller, request)
	mustCode(t, err, UpdateNotRepeatable)
	f.back.update = nil
	f.untilState(t, f.update(t, UpdateRequest{InstanceID: j.InstanceID, Parameters: map[string]any{"size": 2}}).ID, Succeeded)
	if in = f.instance(t, j.InstanceID); !in.Usable || !in.UpdateRepeatable {
		t.Errorf("after a good update: %+v", in)
	}
}

func TestBindings(t *testing.T) {
	t.Parallel()
	f, j := newLife(t, "small")
	first := f.done(f.bind(t, BindRequest{InstanceID: j.InstanceID, Name: "app", ExpiresIn: time.Hour}))
	again, err := f.Bind(t.Context(), f.caller, BindRequest{InstanceID: j.InstanceID, Name: "app", ExpiresIn: time.Hour})
	if err != nil || !again.Existing || again.Job.ID != first.ID {
		t.Errorf("the same again: %+v %v", again, err)
	}
	b, err := f.GetBinding(t.Context(), f.caller, first.BindingID)
	if err != nil || b.Name != "app" || b.State != BindingActive || b.ExpiresAt == nil || !b.RenewBefore.Before(*b.ExpiresAt) {
		t.Errorf("%+v %v", b, err)
	}
	mustBe(t, "logins", len(f.back.loginsOf(j.InstanceID)), 2)

	res, err := f.Unbind(t.Context(), f.caller, first.BindingID, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.ReadCredentials(t.Context(), f.caller, first.BindingID)
	mustCode(t, err, BindingDeleted)
	gone := f.done(t, res, nil)
	if b, err = f.GetBinding(t.Context(), f.caller, first.BindingID); err != nil || b.State != BindingGone {
		t.Errorf("%+v %v", b, err)
	}
	once, err := f.Unbind(t.Context(), f.caller, first.BindingID, "")
	if err != nil || !once.Existing || once.Job.ID != gone.ID {
		t.Errorf("unbind of what is gone: %+v %v", once, err)
	}
	if diff := cmp.Diff([]string{j.BindingID}, f.back.loginsOf(j.InstanceID)); diff != "" {
		t.Error(diff)
	}
}

func (f *fixture) bind(t testing.TB, r BindRequest) (testing.TB, Result, error) {
	t.Helper()
	res, err := f.Bind(t.Context(), f.caller, r)
	return t, res, err
}

func TestRotation(t *testing.T) {
	t.Parallel()
	f, j := newLife(t, "small")
	first := f.done(f.bind(t, BindRequest{InstanceID: j.InstanceID, Name: "app"}))
	overlap := time.Hour
	res, err := f.Rotate(t.Context(), f.caller, RotateRequest{BindingID: first.BindingID, Overlap: &overlap})
	second := f.done(t, res, err)
	old, err := f.GetBinding(t.Context(), f.caller, first.BindingID)
	if err != nil || old.State != BindingActive || old.Name != "" || old.ExpiresAt == nil {
		t.Errorf("the old one: %+v %v", old, err)
	}
	b, err := f.GetBinding(t.Context(), f.caller, second.BindingID)
	if err != nil || b.Name != "app" || b.PredecessorID != first.BindingID || b.ExpiresAt != nil {
		t.Errorf("the new one: %+v %v", b, err)
	}
	if _, err := f.ReadCredentials(t.Context(), f.caller, first.BindingID); err != nil {
		t.Errorf("in the overlap: %v", err)
	}
	_, err = f.Rotate(t.Context(), f.caller, RotateRequest{BindingID: first.BindingID})
	mustCode(t, err, BindingRotated)

	f.exec(t, `UPDATE binding SET expires_at = clock_timestamp() WHERE id = $1`, first.BindingID)
	f.untilBinding(t, first.BindingID, BindingGone)
	if slices.Contains(f.back.loginsOf(j.InstanceID), first.BindingID) {
		t.Error("the old credentials are still there after the overlap")
	}
}

// untilBinding waits for the sweep and the worker, which announce no binding: it looks at the binding's jobs.
func (f *fixture) untilBinding(t testing.TB, id string, state BindingState) {
	t.Helper()
	f.eventually(t, "binding "+string(state), func() bool {
		b, err := f.GetBinding(t.Context(), f.caller, id)
		if err != nil {
			t.Fatal(err)
		}
		return b.State == state
	})
}

// eventually looks until it is so, for a minute.
func (f *fixture) eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !so() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("never: %s\n%s", what, f.log.tail())
		}
	}
}

// A bind that fails or is canceled leaves no credentials behind, and the instance as it was.
func TestBindThatFailsIsCleanedUp(t *testing.T) {
	t.Parallel()
	f, j := newLife(t, "small")
	f.back.bind = func(_ context.Context, r *provider.Request) error {
		f.back.mu.Lock()
		defer f.back.mu.Unlock()
		f.back.logins[r.BindingID] = r.InstanceID // made, and then
		return &provider.Error{Code: "broken", Message: "Broken."}
	}
	res, err := f.Bind(t.Context(), f.caller, BindRequest{InstanceID: j.InstanceID})
	if err != nil {
		t.Fatal(err)
	}
	f.untilState(t, res.Job.ID, Failed)
	if diff := cmp.Diff([]string{j.BindingID}, f.back.loginsOf(j.InstanceID)); diff != "" {
		t.Error(diff)
	}
	mustBe(t, "instance", f.instance(t, j.InstanceID).State, InstanceActive)
	f.untilBinding(t, res.Job.BindingID, BindingGone)
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	f, j := newLife(t, "brief")
	in := f.instance(t, j.InstanceID)
	if in.ExpiresAt == nil || !near(in.ExpiresAt.Sub(in.CreatedAt), time.Hour) {
		t.Fatalf("expires at %v", in.ExpiresAt)
	}
	_, err := f.Update(t.Context(), f.caller, UpdateRequest{InstanceID: j.InstanceID, NoExpiry: true})
	mustCode(t, err, InvalidRequest)
	_, err = f.Update(t.Context(), f.caller, UpdateRequest{InstanceID: j.InstanceID, ExpiresIn: 3 * time.Hour})
	mustCode(t, err, InvalidRequest)
	if _, err = f.Update(t.Context(), f.caller, UpdateRequest{InstanceID: j.InstanceID, ExpiresIn: 2 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	if longer := f.instance(t, j.InstanceID); !near(longer.ExpiresAt.Sub(longer.UpdatedAt), 2*time.Hour) {
		t.Errorf("extended to %v", longer.ExpiresAt)
	}
	f.exec(t, `UPDATE instance SET warn_at = clock_timestamp() WHERE id = $1`, j.InstanceID)
	f.eventually(t, "announced", func() bool { return f.events(t, j.InstanceID, "instance.expiring") == 1 })
	f.exec(t, `UPDATE instance SET expires_at = clock_timestamp() WHERE id = $1`, j.InstanceID)
	f.eventually(t, "deleted", func() bool { return f.instance(t, j.InstanceID).State == InstanceDeleted })
	mustBe(t, "left", f.back.left(), 0)
	mustBe(t, "times announced", f.events(t, j.InstanceID, "instance.expiring"), 1)
	mustBe(t, "times expired", f.events(t, j.InstanceID, "instance.expired"), 1)
}

func near(got, want time.Duration) bool { return got > want-time.Minute && got < want+time.Minute }

func (f *fixture) events(t testing.TB, instanceID, kind string) (n int) {
	t.Helper()
	err := f.pool.QueryRow(t.Context(), `SELECT count(*) FROM event WHERE instance_id = $1 AND type = $2`, instanceID, kind).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestProtection(t *testing.T) {
	t.Parallel()
	f, j := newLife(t, "large")
	yes, no := true, false
	if _, err := f.Update(t.Context(), f.caller, UpdateRequest{InstanceID: j.InstanceID, Protected: &yes}); err != nil {
		t.Fatal(err)
	}
	person := f.newCaller(t, "acme", KindPerson)
	_, err := f.Delete(t.Context(), person, DeleteRequest{InstanceID: j.InstanceID})
	mustCode(t, err, DeletionProtected)
	if _, err := f.Update(t.Context(), f.caller, UpdateRequest{InstanceID: j.InstanceID, Protected: &no}); err != nil {
		t.Fatal(err)
	}
	res, err := f.Delete(t.Context(), person, DeleteRequest{InstanceID: j.InstanceID})
	f.done(t, res, err)
}

func TestCheckRecordsWhatItFinds(t *testing.T) {
	t.Parallel()
	f, j := newLife(t, "brief")
	f.back.check = func() []provider.Finding {
		return []provider.Finding{{Kind: provider.Missing, Object: provider.Object{Kind: "thing", Name: "x"}, Detail: "It is gone."}}
	}
	res, err := f.Check(t.Context(), f.caller, CheckRequest{InstanceID: j.InstanceID})
	f.done(t, res, err)
	in := f.instance(t, j.InstanceID)
	if diff := cmp.Diff([]Finding{{provider.Missing, "thing", "x", "It is gone."}}, in.Findings); diff != "" || in.CheckedAt == nil {
		t.Error(diff, in.CheckedAt)
	}
	// The plan wants a check from time to time.
	f.back.check = nil
	f.exec(t, `UPDATE instance SET check_at = clock_timestamp() WHERE id = $1`, j.InstanceID)
	f.eventually(t, "checked again", func() bool { return len(f.instance(t, j.InstanceID).Findings) == 0 })
}

// What cannot be removed stays on the ledger until a later job has removed it.
func TestOrphans(t *testing.T) {
	t.Parallel()
	f, j := newLife(t, "brief")
	f.back.deprovision = func(context.Context, *provider.Request) error {
		return &provider.Error{Code: "refused", Message: "Refused."}
	}
	res, err := f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID})
	if err != nil {
		t.Fatal(err)
	}
	f.untilState(t, res.Job.ID, Failed)
	type row struct {
		Kind, Name string
		Tries      int
		Ending     *string
	}
	ledger := func() []row {
		rows, err := f.pool.Query(t.Context(), `SELECT kind, name, tries, ending FROM orphan WHERE instance_id = $1 ORDER BY id`, j.InstanceID)
		if err != nil {
			t.Fatal(err)
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if diff := cmp.Diff([]row{{Kind: "thing", Name: j.InstanceID}}, ledger()); diff != "" {
		t.Error(diff)
	}
	f.exec(t, `UPDATE orphan SET retry_at = clock_timestamp() WHERE instance_id = $1`, j.InstanceID)
	f.eventually(t, "tried again", func() bool { return ledger()[0].Tries == 1 && f.instance(t, j.InstanceID).State == InstanceFailed })
	f.back.mu.Lock()
	f.back.deprovision = nil
	f.back.mu.Unlock()
	f.exec(t, `UPDATE orphan SET retry_at = clock_timestamp() WHERE instance_id = $1`, j.InstanceID)
	f.eventually(t, "removed", func() bool { return f.instance(t, j.InstanceID).State == InstanceDeleted })
	removed := "removed"
	if diff := cmp.Diff([]row{{Kind: "thing", Name: j.InstanceID, Tries: 2, Ending: &removed}}, ledger()); diff != "" {
		t.Error(diff)
	}
}

// A deletion that is called off in its course has perhaps removed a part. That is on the ledger, and is
// not removed until somebody asks again.
func TestCanceledDeletionIsOnTheLedger(t *testing.T) {
	t.Parallel()
	f, j := newLife(t, "brief")
	begun := make(chan struct{})
	f.back.deprovision = func(ctx context.Context, _ *provider.Request) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}
	res, err := f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	if _, err := f.Cancel(t.Context(), f.caller, res.Job.ID, ""); err != nil {
		t.Fatal(err)
	}
	canceled := f.untilState(t, res.Job.ID, Canceled)
	mustBe(t, "instance", f.instance(t, j.InstanceID).State, InstanceFailed)
	mustBe(t, "leftovers", len(canceled.Leftovers), 1)
	open := func() (n, retried int) {
		err := f.pool.QueryRow(t.Context(), `
			SELECT count(*), count(retry_at) FROM orphan WHERE instance_id = $1 AND ended_at IS NULL`, j.InstanceID).Scan(&n, &retried)
		if err != nil {
			t.Fatal(err)
		}
		return n, retried
	}
	n, retried := open()
	mustBe(t, "on the ledger", n, 1)
	mustBe(t, "to be removed by the sweep", retried, 0)

	f.back.mu.Lock()
	f.back.deprovision = nil
	f.back.mu.Unlock()
	if res, err = f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID}); err != nil {
		t.Fatal(err)
	}
	f.untilState(t, res.Job.ID, Succeeded)
	n, _ = open()
	mustBe(t, "on the ledger in the end", n, 0)
}
