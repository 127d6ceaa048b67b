package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"golang.org/x/sync/errgroup"

	"github.com/provisiond/provisiond/jobs/catalog"
)

// riverSchema is the database schema of River's tables (package migrations makes it).
const riverSchema = "river"

// Config is what a Service needs. Zero numbers take the defaults.
type Config struct {
	Pool    *pgxpool.Pool
	Catalog *catalog.Catalog
	Sealer  *Sealer
	Logger  *slog.Logger
	// Lease is how long a worker may be silent before its job passes on; 15 s.
	Lease time.Duration
	// Sweep is the interval of the sweep; 1 s.
	Sweep time.Duration
	// JobDeadline bounds a job's working time; 1 h. A plan may set its own.
	JobDeadline time.Duration
	// QuestionExpiry is how long a question stays open; 24 h. A plan or a question may set its own.
	QuestionExpiry time.Duration
	// CleanupDeadline bounds the clean-up after a failure or a cancel; 10 min. What is left then is
	// listed in the job's leftovers.
	CleanupDeadline time.Duration
	// Retention is how long finished jobs stay; 30 days.
	Retention time.Duration
	// Workers is how many jobs of each driver run at once in this process; 100.
	Workers int
}

// Service is the core. Safe for concurrent use.
type Service struct {
	cfg    Config
	pool   *pgxpool.Pool
	log    *slog.Logger
	river  *river.Client[pgx.Tx] // inserts only
	hub    *hub
	keys   keyCache
	notify notifier
	drain  chan struct{} // closed by Drain
	// drainOnce guards the closing.
	drainOnce func()
}

// New makes a Service. It makes no connection.
func New(c Config) (*Service, error) {
	if c.Pool == nil || c.Catalog == nil || c.Sealer == nil {
		return nil, errors.New("jobs: Pool, Catalog and Sealer are needed")
	}
	return newService(c)
}

func newService(c Config) (*Service, error) {
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.Lease = cmp.Or(c.Lease, 15*time.Second)
	c.Sweep = cmp.Or(c.Sweep, time.Second)
	c.JobDeadline = cmp.Or(c.JobDeadline, time.Hour)
	c.QuestionExpiry = cmp.Or(c.QuestionExpiry, 24*time.Hour)
	c.CleanupDeadline = cmp.Or(c.CleanupDeadline, 10*time.Minute)
	c.Retention = cmp.Or(c.Retention, 30*24*time.Hour)
	c.Workers = cmp.Or(c.Workers, 100)
	inserter, err := river.NewClient(riverpgxv5.New(c.Pool), &river.Config{
		Schema: riverSchema, Logger: riverLogger(c.Logger),
		FetchCooldown: fetchCooldown, // it bounds how often an insert wakes the workers
	})
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	s := &Service{
		cfg: c, pool: c.Pool, log: c.Logger, river: inserter,
		hub: newHub(), notify: newNotifier(), drain: make(chan struct{}),
	}
	s.drainOnce = sync.OnceFunc(func() { close(s.drain) })
	return s, nil
}

// Run keeps this replica's waiters and all jobs' leases true: it listens, notifies, sweeps, and removes
// what is past its retention. It returns nil when ctx is done. Every process runs it, whatever its role.
func (s *Service) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { s.listen(ctx); return nil })
	g.Go(func() error { s.recheck(ctx); return nil })
	g.Go(func() error { s.sendNotifications(ctx); return nil })
	g.Go(func() error { s.sweepLoop(ctx); return nil })
	g.Go(func() error { s.retentionLoop(ctx); return nil })
	return g.Wait()
}

// Catalog is the catalog in force.
func (s *Service) Catalog() *catalog.Catalog { return s.cfg.Catalog }

// Drain makes Ready fail and lets all waits answer at once with the present state.
func (s *Service) Drain() { s.drainOnce() }

// Ready reports why the replica cannot take requests. Errors: Draining, or Unavailable where the
// database does not answer.
func (s *Service) Ready(ctx context.Context) error {
	select {
	case <-s.drain:
		return &Error{Code: Draining, Detail: "the replica drains"}
	default:
	}
	if err := s.pool.Ping(ctx); err != nil {
		return &Error{Code: Unavailable, Detail: "the database does not answer", Cause: err}
	}
	return nil
}

// riverLogger lets River's warnings through: it logs each start and stop of its parts at Info.
func riverLogger(l *slog.Logger) *slog.Logger {
	return slog.New(levelHandler{l.Handler(), slog.LevelWarn})
}

// levelHandler drops records below its level.
type levelHandler struct {
	slog.Handler
	level slog.Level
}

func (h levelHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= h.level && h.Handler.Enabled(ctx, l)
}

func (h levelHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return levelHandler{h.Handler.WithAttrs(a), h.level}
}

func (h levelHandler) WithGroup(n string) slog.Handler {
	return levelHandler{h.Handler.WithGroup(n), h.level}
}
