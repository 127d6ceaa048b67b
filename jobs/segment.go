package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/provisiond/provisiond/provider"
)

const (
	// abandonAfter is how long a driver may go on after its context is done. Then its job is left to
	// the sweep, once the lease has lapsed.
	abandonAfter = 30 * time.Second
	// releaseTimeout bounds the last write of a segment that was cut off.
	releaseTimeout = 5 * time.Second
)

// The causes for which a driver's context ends before it is done.
var (
	errCancelRequested = errors.New("the job is to be canceled")
	errSegmentDeadline = errors.New("the deadline has passed")
)

// outcome is what came of a driver's call.
type outcome struct {
	endpoint    provider.Endpoint
	credentials provider.Credentials
	findings    []provider.Finding
	// found is what is left outside after a Deprovision or an Unbind that failed.
	found []provider.Object
	err   error
}

// run calls the driver under a lease that is renewed, and commits what came of it.
func (g *segment) run(parent context.Context) {
	started := time.Now()
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	ctx, stopTimer := context.WithTimeoutCause(ctx, g.deadline, errSegmentDeadline)
	defer stopTimer()
	renewing := make(chan struct{})
	go func() {
		defer close(renewing)
		g.keepLease(ctx, cancel)
	}()
	out, returned := g.await(ctx)
	cause := context.Cause(ctx)
	cancel(nil)
	<-renewing
	if !returned {
		g.s.log.Error("driver did not obey its context; the job is left to the sweep", g.attrs()...)
		return
	}
	err := g.settle(context.WithoutCancel(parent), cause, out)
	g.logLine(out, err, time.Since(started))
}

// await runs the driver until it returns, or until it has gone on for too long after its context was
// done.
func (g *segment) await(ctx context.Context) (outcome, bool) {
	result := make(chan outcome, 1)
	go func() { result <- g.call(ctx) }()
	select {
	case out := <-result:
		return out, true
	case <-ctx.Done():
	}
	select {
	case out := <-result:
		return out, true
	case <-time.After(abandonAfter):
		return outcome{}, false
	}
}

// call makes the driver's calls for the job's operation. A panic is a failure that is not retried.
func (g *segment) call(ctx context.Context) (out outcome) {
	defer func() {
		if p := recover(); p != nil {
			// The value of the panic could hold a secret.
			g.s.log.Error("driver panicked", append(g.attrs(), "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))...)
			out = outcome{err: &provider.Error{Code: "provider_panic", Message: "The provider's driver failed. An operator finds it in the log."}}
		}
	}()
	if g.driver == nil {
		return outcome{err: &provider.Error{
			Code: provider.ErrUnavailable, Retryable: true, Message: "The service is not in this worker's catalog, or not with the driver that made the instance.",
		}}
	}
	g.request.Checkpoint = g.checkpoint
	g.request.Report = g.report
	switch {
	case g.job.Operation == OpUnbind, g.job.Operation.onBinding() && g.ending != "":
		return g.unbind(ctx)
	case g.job.Operation == OpDeprovision, g.ending != "":
		return g.deprovision(ctx)
	case g.job.Operation == OpUpdate:
		out.endpoint, out.err = g.driver.Update(ctx, &g.request)
	case g.job.Operation == OpCheck:
		out.findings, out.err = g.driver.Check(ctx, &g.request)
	case g.job.Operation.onBinding():
		out.credentials, out.err = g.driver.Bind(ctx, &g.request)
	default:
		return g.provision(ctx)
	}
	return out
}

// provision makes the instance, with its first binding where the start wants one.
func (g *segment) provision(ctx context.Context) (out outcome) {
	if out.endpoint, out.err = g.driver.Provision(ctx, &g.request); out.err != nil || g.job.BindingID == "" {
		return out
	}
	if ctx.Err() != nil {
		out.err = context.Cause(ctx)
		return out
	}
	g.request.State = g.state
	out.credentials, out.err = g.driver.Bind(ctx, &g.request)
	return out
}

// unbind removes the credentials and, where that fails, names what is left.
func (g *segment) unbind(ctx context.Context) (out outcome) {
	out.err = g.driver.Unbind(ctx, &g.request)
	if namer, ok := g.driver.(provider.Namer); ok && out.err != nil {
		instance := g.request
		instance.BindingID = ""
		out.found = slices.DeleteFunc(namer.Names(&g.request), func(o provider.Object) bool {
			return slices.Contains(namer.Names(&instance), o)
		})
	}
	return out
}

// deprovision removes the instance and, where that fails, looks for what is left.
func (g *segment) deprovision(ctx context.Context) (out outcome) {
	out.err = g.driver.Deprovision(ctx, &g.request)
	var e *provider.Error
	if errors.As(out.err, &e) && ctx.Err() == nil {
		g.request.State = g.state
		found, err := g.driver.Find(ctx, &g.request)
		if err != nil {
			g.s.log.Warn("leftovers not listed", append(g.attrs(), "error", g.secrets.scrub(err.Error()))...)
		}
		out.found = found
	}
	return out
}

func (g *segment) attrs() []any {
	return []any{"job_id", g.job.ID, "instance_id", g.job.InstanceID, "tenant_id", g.tenantID,
		"operation", g.job.Operation, "driver", g.driverName, "epoch", g.epoch}
}

// logLine is the one log line of a segment.
func (g *segment) logLine(out outcome, settleErr error, took time.Duration) {
	attrs := append(g.attrs(), "duration_ms", took.Milliseconds())
	level, result := slog.LevelInfo, "done"
	var asks *provider.InputRequired
	var pending *provider.Pending
	switch {
	case errors.Is(settleErr, errLostLease):
		result = "lost_lease"
	case settleErr != nil:
		level, result = slog.LevelError, "not_settled"
		attrs = append(attrs, "error", g.secrets.scrub(settleErr.Error()))
	case out.err == nil:
	case errors.As(out.err, &asks):
		result = "asks"
	case errors.As(out.err, &pending):
		result = "pending"
	default:
		level, result = slog.LevelWarn, "error"
		attrs = append(attrs, "error", g.secrets.scrub(out.err.Error()))
	}
	g.s.log.Log(context.Background(), level, "job segment", append(attrs, "result", result)...)
}
