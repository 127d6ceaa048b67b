package jobs

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/provider"
)

func (f *fixture) operator(t testing.TB) *Operator {
	t.Helper()
	o, err := NewOperator(f.pool, "ada", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (f *fixture) job(t testing.TB, id string) Job {
	t.Helper()
	j, err := f.Get(t.Context(), f.caller, id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// audited fails the test unless an operator's event says who did it and why.
func (f *fixture) audited(t testing.TB, instanceID, kind string) {
	t.Helper()
	var by, why string
	err := f.pool.QueryRow(t.Context(), `
		SELECT data ->> 'by', coalesce(data ->> 'reason', '') FROM event WHERE instance_id = $1 AND type = $2 AND actor = 'operator'`, instanceID, kind).
		Scan(&by, &why)
	if err != nil || by != "ada" || why != "because" {
		t.Errorf("%s by %q because %q: %v", kind, by, why, err)
	}
}

// jobsIn makes a job in each state that an operator may find.
var jobsIn = map[string]func(t *testing.T, f *fixture) Job{
	"queued": func(t *testing.T, f *fixture) Job { return f.start(t, StartRequest{}) },
	"next try": func(t *testing.T, f *fixture) Job {
		f.back.provision = func(context.Context, *provider.Request) error {
			return &provider.Error{Code: "busy", Message: "Busy.", Retryable: true}
		}
		j := f.start(t, StartRequest{Bind: true})
		f.claimed(t, j).run(t.Context())
		return f.job(t, j.ID)
	},
	"waiting on provider": func(t *testing.T, f *fixture) Job {
		f.back.provision = func(context.Context, *provider.Request) error { return &provider.Pending{After: time.Minute} }
		j := f.start(t, StartRequest{})
		f.claimed(t, j).run(t.Context())
		return f.job(t, j.ID)
	},
	"running": func(t *testing.T, f *fixture) Job {
		j := f.start(t, StartRequest{Bind: true})
		f.claimed(t, j)
		return f.job(t, j.ID)
	},
	"awaiting": func(t *testing.T, f *fixture) Job { return f.start(t, StartRequest{Plan: "region"}) },
	"deprovision behind a provision": func(t *testing.T, f *fixture) Job {
		j := f.start(t, StartRequest{})
		f.claimed(t, j)
		return f.deleting(t, j)
	},
	"deprovision between tries": func(t *testing.T, f *fixture) Job {
		j := f.start(t, StartRequest{})
		f.claimed(t, j).run(t.Context())
		f.back.deprovision = func(context.Context, *provider.Request) error {
			return &provider.Error{Code: "busy", Message: "Busy.", Retryable: true}
		}
		j = f.deleting(t, j)
		f.claimed(t, j).run(t.Context())
		return f.job(t, j.ID)
	},
	"bind": func(t *testing.T, f *fixture) Job {
		j := f.start(t, StartRequest{})
		f.claimed(t, j).run(t.Context())
		res, err := f.Bind(t.Context(), f.caller, BindRequest{InstanceID: j.InstanceID})
		if err != nil {
			t.Fatal(err)
		}
		f.claimed(t, res.Job)
		return f.job(t, res.Job.ID)
	},
	"failed": func(t *testing.T, f *fixture) Job {
		f.back.provision = func(context.Context, *provider.Request) error { return &provider.Error{Code: "no", Message: "No."} }
		j := f.start(t, StartRequest{})
		f.claimed(t, j).run(t.Context())
		f.claimed(t, j).run(t.Context()) // the clean-up
		return f.job(t, j.ID)
	},
}

func (f *fixture) deleting(t testing.TB, j Job) Job {
	t.Helper()
	res, err := f.Delete(t.Context(), f.caller, DeleteRequest{InstanceID: j.InstanceID})
	if err != nil {
		t.Fatal(err)
	}
	return res.Job
}

func TestOperatorRetriesJobs(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]Code{
		"queued": "", "next try": "", "waiting on provider": "", "deprovision between tries": "",
		"running": NotReady, "awaiting": NotReady, "deprovision behind a provision": NotReady, "failed": JobFinished,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			j := jobsIn[name](t, f)
			before := f.epochOf(t, j.ID)
			err := f.operator(t).RetryJob(t.Context(), j.ID, "because")
			if refused != "" {
				mustCode(t, err, refused)
				mustBe(t, "epoch", f.epochOf(t, j.ID), before)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			f.audited(t, j.InstanceID, "operator.retry_job")
			d, err := f.operator(t).ShowJob(t.Context(), j.ID)
			if err != nil || d.Attempts != 0 || d.Epoch != before+1 {
				t.Errorf("%+v %v", d.OperatorJob, err)
			}
			f.claimed(t, j) // there is a ticket
		})
	}
	mustCode(t, newFixture(t).operator(t).RetryJob(t.Context(), "job_x", ""), NotFound)
}

func TestOperatorFailsJobs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		refused  Code
		cleansUp bool
		orphans  map[string]bool // kind -> tried again
	}{
		"queued":                         {},
		"awaiting":                       {},
		"next try":                       {cleansUp: true},
		"waiting on provider":            {cleansUp: true},
		"running":                        {cleansUp: true},
		"deprovision behind a provision": {},
		"deprovision between tries":      {orphans: map[string]bool{"instance": true}},
		"failed":                         {refused: JobFinished},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			j := jobsIn[name](t, f)
			err := f.operator(t).FailJob(t.Context(), j.ID, "because")
			if want.refused != "" {
				mustCode(t, err, want.refused)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			f.audited(t, j.InstanceID, "operator.fail_job")
			if want.cleansUp {
				mustBe(t, "phase", f.job(t, j.ID).Phase, CleaningUp)
				mustCode(t, f.operator(t).FailJob(t.Context(), j.ID, "again"), JobFinished)
				if name == "running" {
					f.lapse(t, j.ID)
					f.sweepNow(t)
				}
				f.claimed(t, j).run(t.Context())
				mustBe(t, "clean-ups", f.back.count("deprovision"), 1)
			}
			j = f.job(t, j.ID)
			if j.State != Failed || j.Error.Code != codeOperator {
				t.Errorf("ended as %s", show(j))
			}
			f.sameLedger(t, j.InstanceID, want.orphans)
		})
	}
}

// sameLedger compares what is on the ledger, by kind.
func (f *fixture) sameLedger(t testing.TB, instanceID string, want map[string]bool) {
	t.Helper()
	got := map[string]bool{}
	orphans, err := f.operator(t).ListOrphans(t.Context(), OrphanFilter{InstanceID: instanceID})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range orphans {
		got[o.Kind] = o.RetryAt != nil
	}
	if want == nil {
		want = map[string]bool{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

// A worker that hangs loses its job; no clean-up runs beside it.
func TestOperatorFailsWhatAWorkerRuns(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	entered := make(chan struct{})
	f.back.provision = func(ctx context.Context, _ *provider.Request) error {
		close(entered)
		<-ctx.Done()
		return ctx.Err()
	}
	f.run(t)
	f.work(t)
	j := f.start(t, StartRequest{})
	<-entered
	if err := f.operator(t).FailJob(t.Context(), j.ID, "because"); err != nil {
		t.Fatal(err)
	}
	f.untilState(t, j.ID, Failed)
	mustBe(t, "clean-ups", f.back.count("deprovision"), 1)
	mustBe(t, "objects left", f.back.left(), 0)
	mustBe(t, "two calls at once", f.back.overlap, false)
	mustBe(t, "lapsed leases", f.events(t, j.InstanceID, "job.lease_lapsed"), 0)
}

func TestOperatorForgetsJobs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		refused  Code
		instance InstanceState
		orphans  map[string]bool
	}{
		"queued":                         {instance: InstanceFailed},
		"awaiting":                       {instance: InstanceFailed},
		"next try":                       {instance: InstanceFailed, orphans: map[string]bool{"instance": false}},
		"running":                        {instance: InstanceFailed, orphans: map[string]bool{"instance": false}},
		"bind":                           {instance: InstanceActive, orphans: map[string]bool{"binding": false}},
		"deprovision behind a provision": {instance: InstanceFailed},
		"deprovision between tries":      {instance: InstanceFailed, orphans: map[string]bool{"instance": false}},
		"failed":                         {refused: JobFinished},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			j := jobsIn[name](t, f)
			err := f.operator(t).ForgetJob(t.Context(), j.ID, "because")
			if want.refused != "" {
				mustCode(t, err, want.refused)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			f.audited(t, j.InstanceID, "operator.forget_job")
			j = f.job(t, j.ID)
			if j.State != Failed || j.Error.Code != codeForgotten {
				t.Errorf("ended as %s", show(j))
			}
			mustBe(t, "instance", f.instance(t, j.InstanceID).State, want.instance)
			f.sameLedger(t, j.InstanceID, want.orphans)
			if err := f.sweepLife(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.sameLedger(t, j.InstanceID, want.orphans)
			mustBe(t, "live jobs", f.liveJobs(t, j.InstanceID, j.ID), 0)
		})
	}
}

// liveJobs counts the jobs on an instance besides those that were there before the one.
func (f *fixture) liveJobs(t testing.TB, instanceID, after string) (n int) {
	t.Helper()
	err := f.pool.QueryRow(t.Context(), `SELECT count(*) FROM job WHERE instance_id = $1 AND id > $2 AND finished_at IS NULL`, instanceID, after).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestOperatorForgetsInstances(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	j := f.start(t, StartRequest{Name: "shop", Bind: true})
	o := f.operator(t)
	mustCode(t, o.ForgetInstance(t.Context(), j.InstanceID, "because"), OperationInProgress)
	f.claimed(t, j).run(t.Context())
	if err := o.ForgetInstance(t.Context(), j.InstanceID, "because"); err != nil {
		t.Fatal(err)
	}
	f.audited(t, j.InstanceID, "operator.forget_instance")
	in := f.instance(t, j.InstanceID)
	mustBe(t, "state", in.State, InstanceDeleted)
	mustBe(t, "calls", f.back.count("deprovision"), 0)
	f.sameLedger(t, j.InstanceID, map[string]bool{"instance": false})
	_, err := f.ReadCredentials(t.Context(), f.caller, j.BindingID)
	mustCode(t, err, BindingDeleted)
	f.start(t, StartRequest{Name: "shop"}) // the name is free

	mustCode(t, o.ForgetInstance(t.Context(), j.InstanceID, ""), InstanceNotActive)
	mustCode(t, o.ForgetInstance(t.Context(), "inst_x", ""), NotFound)
	orphans, err := o.ListOrphans(t.Context(), OrphanFilter{Tenant: "acme"})
	if err != nil || len(orphans) != 1 {
		t.Fatalf("%+v %v", orphans, err)
	}
	mustCode(t, o.RetryOrphan(t.Context(), orphans[0].ID, ""), InvalidRequest)
	if err := o.ForgetOrphan(t.Context(), orphans[0].ID, "because"); err != nil {
		t.Fatal(err)
	}
	f.audited(t, j.InstanceID, "operator.forget_orphan")
	mustCode(t, o.ForgetOrphan(t.Context(), orphans[0].ID, ""), InvalidRequest)
	f.sameLedger(t, j.InstanceID, nil)
}

// An orphan of a binding that is forgotten is not found again by the sweep; one that is retried is removed.
func TestOperatorAndTheOrphanOfABinding(t *testing.T) {
	t.Parallel()
	for name, retried := range map[string]bool{"retry": true, "forget": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			j := jobsIn["bind"](t, f)
			o := f.operator(t)
			if err := o.ForgetJob(t.Context(), j.ID, ""); err != nil {
				t.Fatal(err)
			}
			orphans, err := o.ListOrphans(t.Context(), OrphanFilter{InstanceID: j.InstanceID})
			if err != nil || len(orphans) != 1 {
				t.Fatalf("%+v %v", orphans, err)
			}
			want := 0
			if retried {
				want, err = 1, o.RetryOrphan(t.Context(), orphans[0].ID, "because")
			} else {
				err = o.ForgetOrphan(t.Context(), orphans[0].ID, "because")
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := f.sweepLife(t.Context()); err != nil {
				t.Fatal(err)
			}
			mustBe(t, "new jobs", f.liveJobs(t, j.InstanceID, j.ID), want)
		})
	}
	mustCode(t, newFixture(t).operator(t).RetryOrphan(t.Context(), "orph_x", ""), NotFound)
}

func TestOperatorListsJobsOfAllTenants(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	running := jobsIn["running"](t, f)
	f.caller = f.newCaller(t, "other", KindAgent)
	waits := jobsIn["awaiting"](t, f)
	for name, tt := range map[string]struct {
		filter OperatorJobFilter
		want   []string
	}{
		"all":      {OperatorJobFilter{}, []string{waits.ID, running.ID}},
		"limit":    {OperatorJobFilter{Limit: 1}, []string{waits.ID}},
		"tenant":   {OperatorJobFilter{Tenant: "acme"}, []string{running.ID}},
		"state":    {OperatorJobFilter{State: AwaitingInput}, []string{waits.ID}},
		"phase":    {OperatorJobFilter{Phase: Running}, []string{running.ID}},
		"none":     {OperatorJobFilter{Phase: CleaningUp}, nil},
		"instance": {OperatorJobFilter{InstanceID: waits.InstanceID}, []string{waits.ID}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			jobs, err := f.operator(t).ListJobs(t.Context(), tt.filter)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, j := range jobs {
				got = append(got, j.ID)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	d, err := f.operator(t).ShowJob(t.Context(), running.ID)
	if err != nil {
		t.Fatal(err)
	}
	if d.Tenant != "acme" || d.Owner != "wrk_test" || d.LeaseUntil == nil || d.Instance.ID != running.InstanceID || len(d.Events) == 0 {
		t.Errorf("%+v", d)
	}
}

func TestOperatorListsWorkers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec(t, `INSERT INTO worker (id, drivers, seen_at) VALUES ('wrk_live', '{scripted}', clock_timestamp()),
		('wrk_silent', '{scripted}', clock_timestamp() - interval '1 h')`)
	jobsIn["running"](t, f)
	workers, err := f.operator(t).ListWorkers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type status struct {
		ID    string
		Alive bool
		Jobs  int
		Lease bool
	}
	var got []status
	for _, w := range workers {
		got = append(got, status{w.ID, w.Alive, w.Jobs, w.FirstLease != nil})
	}
	if diff := cmp.Diff([]status{{"wrk_live", true, 0, false}, {"wrk_silent", false, 0, false}, {"wrk_test", false, 1, true}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestQueuePositionIsShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	jobsIn["next try"](t, f) // not in the queue
	var jobs []Job
	for range 3 {
		jobs = append(jobs, f.start(t, StartRequest{}))
	}
	third := jobs[2].ID
	mustBe(t, "without a worker", f.job(t, third).Progress.Message, `Queued: no live worker has the driver "scripted". The job waits for one until its deadline.`)
	f.exec(t, `INSERT INTO worker (id, drivers) VALUES ('wrk_live', '{scripted}')`)
	mustBe(t, "first", f.job(t, jobs[0].ID).Progress.Message, "Queued.")
	mustBe(t, "second", f.job(t, jobs[1].ID).Progress.Message, "Queued: 1 job with this driver is before it.")
	mustBe(t, "third", f.job(t, third).Progress.Message, "Queued: 2 jobs with this driver are before it.")
	f.claimed(t, jobs[0])
	mustBe(t, "third, once the first runs", f.job(t, third).Progress.Message, "Queued: 1 job with this driver is before it.")
	f.exec(t, `
		INSERT INTO instance SELECT (jsonb_populate_record(i, jsonb_build_object('id', 'inst_' || n))).*
		FROM instance i, generate_series(1, 150) n WHERE i.id = $1`, jobs[1].InstanceID)
	f.exec(t, `
		INSERT INTO job SELECT (jsonb_populate_record(j, jsonb_build_object('id', 'job_00' || n, 'instance_id', 'inst_' || n))).*
		FROM job j, generate_series(1, 150) n WHERE j.id = $1`, jobs[1].ID)
	mustBe(t, "a long queue", f.job(t, third).Progress.Message, "Queued: more than 100 jobs with this driver are before it.")
}
