package jobs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

const (
	// segmentLimit bounds one run of a driver between two commits. River rescues what is older.
	segmentLimit = 10 * time.Minute
	// fetchCooldown is how often at most River looks for tickets. Its default of 100 ms would be most
	// of the time from start to running.
	fetchCooldown = 10 * time.Millisecond
	// ticketKept is how long River keeps used tickets, for an operator to look at.
	ticketKept = time.Hour
)

// Worker runs jobs.
type Worker struct {
	river.WorkerDefaults[ticketArgs]
	s      *Service
	id     string
	client *river.Client[pgx.Tx]
	// beats ends with stopBeats.
	stopBeats context.CancelFunc
	beats     chan struct{}
}

// StartWorker begins to run jobs of the catalog's drivers: Config.Workers of each at a time. ctx
// bounds the start only.
func (s *Service) StartWorker(ctx context.Context) (*Worker, error) {
	w := &Worker{s: s, id: newID("wrk"), beats: make(chan struct{})}
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, w); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	queues := map[string]river.QueueConfig{}
	for _, driver := range s.drivers() {
		queues[driver] = river.QueueConfig{MaxWorkers: s.cfg.Workers, FetchCooldown: fetchCooldown}
	}
	client, err := river.NewClient(riverpgxv5.New(s.pool), &river.Config{
		Schema: riverSchema, Logger: riverLogger(s.log), ID: w.id, Workers: workers, Queues: queues,
		FetchCooldown: fetchCooldown, FetchOnlyKnownKinds: true, MaxAttempts: ticketMaxAttempts,
		JobTimeout: segmentLimit, RescueStuckJobsAfter: segmentLimit + 5*time.Minute,
		CompletedJobRetentionPeriod: ticketKept, CancelledJobRetentionPeriod: ticketKept,
	})
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	w.client = client
	if err := w.beat(ctx); err != nil {
		return nil, err
	}
	// Not ctx: a context that ends by a signal would make River stop in disorder.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.stopBeats = stop
	if err := client.Start(background); err != nil {
		stop()
		return nil, fmt.Errorf("worker: %w", err)
	}
	go w.beatLoop(background)
	return w, nil
}

// drivers lists the names of the catalog's drivers. Each is a queue of River's.
func (s *Service) drivers() []string {
	var names []string
	for _, service := range s.Catalog().Services {
		names = append(names, service.DriverName)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Stop takes no more jobs and lets the running ones come to their next commit, until ctx is done. Then
// it cuts them off and releases them at once for other replicas.
func (w *Worker) Stop(ctx context.Context) error {
	err := w.client.Stop(ctx)
	if err != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout+time.Second)
		defer cancel()
		err = w.client.StopAndCancel(last)
	}
	w.stopBeats()
	<-w.beats
	_, gone := w.s.pool.Exec(context.WithoutCancel(ctx), `DELETE FROM worker WHERE id = $1`, w.id)
	if gone != nil {
		w.s.log.WarnContext(ctx, "worker not signed off; it counts as alive for "+workerSeen, "error", gone)
	}
	return wrap("stop worker", err)
}

// beatLoop shows that the worker is alive.
func (w *Worker) beatLoop(ctx context.Context) {
	defer close(w.beats)
	for tick(ctx, 5*time.Second) {
		if err := w.beat(ctx); err != nil && ctx.Err() == nil {
			w.s.log.WarnContext(ctx, "sign of life not written", "error", err)
		}
	}
}

func (w *Worker) beat(ctx context.Context) error {
	_, err := w.s.pool.Exec(ctx, `
		INSERT INTO worker (id, drivers) VALUES ($1, $2)
		ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp()`, w.id, w.s.drivers())
	return wrap("worker", err)
}

// Work implements river.Worker. An error means that the ticket was not used: River tries it again.
func (w *Worker) Work(ctx context.Context, ticket *river.Job[ticketArgs]) error {
	seg, err := w.s.claim(ctx, w.id, ticket.Args)
	if err != nil {
		w.s.log.WarnContext(ctx, "job not claimed", "job_id", ticket.Args.JobID, "epoch", ticket.Args.Epoch, "error", err)
	}
	if err != nil || seg == nil {
		return err
	}
	seg.run(ctx)
	return nil
}
