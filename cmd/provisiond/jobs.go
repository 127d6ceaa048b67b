package main

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"

	"github.com/provisiond/provisiond/jobs"
)

type jobsListCmd struct {
	databaseOptions

	Tenant   string `placeholder:"NAME" help:"Of this tenant alone."`
	State    string `choices:"pending,awaiting_input,succeeded,failed,canceled" placeholder:"STATE" help:"In this state: pending, awaiting_input, succeeded, failed or canceled."`
	Phase    string `choices:"queued,running,waiting_on_provider,cleaning_up,canceling" placeholder:"PHASE" help:"Pending in this phase: queued, running, waiting_on_provider, cleaning_up or canceling."`
	Instance string `placeholder:"ID" help:"On this instance."`
	Limit    int    `default:"50" min:"1" help:"How many at the most."`
}

func (c *jobsListCmd) run(ctx context.Context, p *process) error {
	return c.withOperator(ctx, p, func(o *jobs.Operator) error {
		list, err := o.ListJobs(ctx, jobs.OperatorJobFilter{
			Tenant: c.Tenant, State: jobs.State(c.State), Phase: jobs.Phase(c.Phase), InstanceID: c.Instance, Limit: c.Limit,
		})
		if err != nil {
			return err
		}
		t := newTable(p.stdout, "JOB", "STATUS", "OPERATION", "TENANT", "SERVICE/PLAN", "INSTANCE", "CREATED", "TRIES", "OWNER", "MESSAGE")
		for _, j := range list {
			t.row(j.ID, status(j.Job), string(j.Operation), j.Tenant, j.Service+"/"+j.Plan, j.InstanceID, utc(j.CreatedAt),
				strconv.Itoa(j.Attempts), j.Owner, message(j.Job))
		}
		return t.flush()
	})
}

// status is the phase of a pending job, and the state of another.
func status(j jobs.Job) string { return cmp.Or(string(j.Phase), string(j.State)) }

// message is the error of a failed job, and the progress of another.
func message(j jobs.Job) string {
	if j.Error != nil {
		return j.Error.Code + ": " + j.Error.Message
	}
	return j.Progress.Message
}

// jobArgument is of the commands on one job.
type jobArgument struct {
	databaseOptions

	JobID string `arg:"" help:"The job's ID."`
}

type jobsShowCmd struct{ jobArgument }

func (c *jobsShowCmd) run(ctx context.Context, p *process) error {
	return c.withOperator(ctx, p, func(o *jobs.Operator) error {
		d, err := o.ShowJob(ctx, c.JobID)
		if err != nil {
			return err
		}
		t := newTable(p.stdout, "job", d.ID)
		for _, line := range [][2]string{
			{"operation", string(d.Operation)}, {"status", status(d.Job)}, {"step", d.Progress.Step}, {"message", message(d.Job)},
			{"tenant", d.Tenant}, {"service/plan", d.Service + "/" + d.Plan}, {"driver", d.Driver},
			{"instance", d.InstanceID + ", " + string(d.Instance.State)}, {"instance name", d.Instance.Name}, {"binding", d.BindingID},
			{"owner", d.Owner}, {"lease until", maybe(d.LeaseUntil)}, {"epoch", strconv.FormatInt(d.Epoch, 10)},
			{"tries in a row", strconv.Itoa(d.Attempts)}, {"waits for", d.WaitsFor}, {"due", maybe(d.DueAt)},
			{"created", utc(d.CreatedAt)}, {"deadline", utc(d.DeadlineAt)}, {"finished", maybe(d.FinishedAt)},
		} {
			t.row(line[0], line[1])
		}
		t.questions(d.Questions)
		t.events(d.Events)
		t.orphans(d.Orphans)
		return t.flush()
	})
}

func (t table) questions(list []jobs.Question) {
	for _, q := range list {
		t.row("question "+q.Name, string(q.State)+", for "+string(q.AnswerableBy)+", until "+utc(q.ExpiresAt))
	}
}

func (t table) events(list []jobs.Event) {
	for _, e := range list {
		data, err := json.Marshal(e.Data)
		if err != nil || len(e.Data) == 0 {
			data = nil // it came from JSON
		}
		t.row("event "+utc(e.At), e.Type+" by "+e.Actor+" "+string(data))
	}
}

func (t table) orphans(list []jobs.Orphan) {
	for _, o := range list {
		t.row("orphan "+o.ID, o.Kind+" "+o.Name+", "+next(o))
	}
}

type jobsRetryCmd struct {
	jobArgument
	reasonOption
}

func (c *jobsRetryCmd) run(ctx context.Context, p *process) error {
	return c.withOperator(ctx, p, func(o *jobs.Operator) error { return o.RetryJob(ctx, c.JobID, c.Reason) })
}

type jobsFailCmd struct {
	jobArgument
	reasonOption
}

func (c *jobsFailCmd) run(ctx context.Context, p *process) error {
	return c.withOperator(ctx, p, func(o *jobs.Operator) error { return o.FailJob(ctx, c.JobID, c.Reason) })
}

type jobsForgetCmd struct {
	jobArgument
	reasonOption
}

func (c *jobsForgetCmd) run(ctx context.Context, p *process) error {
	return c.withOperator(ctx, p, func(o *jobs.Operator) error { return o.ForgetJob(ctx, c.JobID, c.Reason) })
}

type instancesForgetCmd struct {
	databaseOptions
	reasonOption

	InstanceID string `arg:"" help:"The instance's ID."`
}

func (c *instancesForgetCmd) run(ctx context.Context, p *process) error {
	return c.withOperator(ctx, p, func(o *jobs.Operator) error { return o.ForgetInstance(ctx, c.InstanceID, c.Reason) })
}
