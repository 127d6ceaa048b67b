package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/provisiond/provisiond/jobs"
)

// The roles of a replica.
const (
	roleAll    = "all"
	roleAPI    = "api"
	roleWorker = "worker"
)

// A replica is a provisiond at work: the core and, by its role, the API, workers, or both.
type replica struct {
	replicaOptions

	role    string
	service *jobs.Service
	public  net.Listener
	admin   net.Listener // nil for none
	log     *slog.Logger
}

// run serves and works until ctx is done or a part fails. Then it hands over in good order.
func (r *replica) run(ctx context.Context) error {
	handler, err := r.handler()
	if err != nil {
		return err
	}
	// Leases and waiters must stay true until the last job and request are handed over.
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	worker, err := r.startWorker(lasting)
	if err != nil {
		return err
	}
	parts, running := errgroup.WithContext(ctx)
	parts.Go(func() error { return r.service.Run(lasting) })
	api := newServer(handler, r.MaxWait, r.log)
	parts.Go(func() error { return serve(api, r.public) })
	admin := newAdminServer(r.service, r.log)
	adminListen := ""
	if r.admin != nil {
		adminListen = r.admin.Addr().String()
		parts.Go(func() error { return serve(admin, r.admin) })
	}
	r.log.InfoContext(ctx, "ready", "role", r.role, "listen", r.public.Addr().String(),
		"admin_listen", adminListen, "version", version())

	<-running.Done()
	err = r.handOver(api, worker)
	_ = admin.Close() // it serves until the end, so that a slow one can be looked into
	end()
	return errors.Join(parts.Wait(), err)
}

// startWorker returns nil for a replica that does not work.
func (r *replica) startWorker(ctx context.Context) (*jobs.Worker, error) {
	if r.role == roleAPI {
		return nil, nil //nolint:nilnil // handOver knows
	}
	return r.service.StartWorker(ctx)
}

// serve returns nil once the server is shut down.
func serve(server *http.Server, listener net.Listener) error {
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	return nil
}

// handOver goes out of service: not ready, so that load balancers send no more; then the requests that
// are here, of which waiting polls answer at once; then the jobs that are here. What is not done when
// the grace ends is cut off, and jobs are released for another replica.
func (r *replica) handOver(api *http.Server, worker *jobs.Worker) error {
	r.log.Info("draining", "drain_delay", r.DrainDelay.String(), "shutdown_grace", r.ShutdownGrace.String())
	r.service.Drain()
	time.Sleep(r.DrainDelay)
	ctx, stop := context.WithTimeout(context.Background(), r.ShutdownGrace)
	defer stop()
	var errs []error
	if err := api.Shutdown(ctx); err != nil {
		errs = append(errs, fmt.Errorf("requests were cut off: %w", err), api.Close())
	}
	if worker != nil {
		errs = append(errs, worker.Stop(ctx))
	}
	r.log.Info("drained")
	return errors.Join(errs...)
}
