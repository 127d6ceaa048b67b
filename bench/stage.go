package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/internal/devpg"
	"github.com/provisiond/provisiond/jobs"
	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/migrations"
	"github.com/provisiond/provisiond/provider"
)

// settings leave durability as PostgreSQL has it. Only checkpoints are kept out of the rounds.
var settings = map[string]string{
	"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
	"shared_buffers": "256MB", "max_wal_size": "4GB", "checkpoint_timeout": "30min",
}

// poolSize is provisiond's default.
const poolSize = 20

const catalogText = `
services:
  - id: thing
    name: Thing
    description: Made at once.
    driver: instant
    plans: [{ id: plain, name: Plain, description: Asks nothing. }]
`

// stage is where all measures are taken: two replicas on one database.
type stage struct {
	pool   *pgxpool.Pool
	driver *instant
	// first starts and changes jobs, second is asked for them.
	first, second *jobs.Service
	caller        jobs.Caller
	token         string
	closers       []func() error
}

func newStage(ctx context.Context) (_ *stage, err error) {
	s := &stage{driver: &instant{called: make(chan time.Time, 1)}}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if err := s.openDatabase(ctx); err != nil {
		return nil, err
	}
	if s.first, s.second, err = s.replicas(); err != nil {
		return nil, err
	}
	s.run(ctx)
	return s, s.makeKey(ctx)
}

func (s *stage) openDatabase(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "provisiond-bench-")
	if err != nil {
		return err
	}
	s.onClose(func() error { return os.RemoveAll(dir) })
	//nolint:gosec // the server's user must get in
	if err := os.Chmod(dir, 0o711); err != nil {
		return err
	}
	server, err := devpg.Start(ctx, devpg.Options{DataDir: filepath.Join(dir, "data"), Settings: settings})
	if err != nil {
		return err
	}
	s.onClose(func() error { return server.Stop(context.WithoutCancel(ctx)) })
	config, err := pgxpool.ParseConfig(server.URL())
	if err != nil {
		return err
	}
	config.MaxConns = poolSize
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	s.onClose(func() error { s.pool.Close(); return nil })
	return migrations.Up(ctx, s.pool)
}

func (s *stage) replicas() (first, second *jobs.Service, err error) {
	keyset, err := jobs.CreateKeyset()
	if err != nil {
		return nil, nil, err
	}
	sealer, err := jobs.ReadKeyset(keyset)
	if err != nil {
		return nil, nil, err
	}
	c, err := catalog.Load("bench.yaml", []byte(catalogText), os.LookupEnv, map[string]provider.Factory{
		"instant": func(json.RawMessage) (provider.Driver, error) { return s.driver, nil },
	})
	if err != nil {
		return nil, nil, err
	}
	config := jobs.Config{
		Pool: s.pool, Catalog: c, Sealer: sealer, Logger: slog.New(slog.DiscardHandler),
		Sweep: time.Hour, // most jobs here are never run, and the sweep would look after them
	}
	first, err = jobs.New(config)
	if err != nil {
		return nil, nil, err
	}
	second, err = jobs.New(config)
	return first, second, err
}

// run keeps both replicas' loops going until the stage is closed.
func (s *stage) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 2)
	for _, replica := range []*jobs.Service{s.first, s.second} {
		go func() { done <- replica.Run(ctx) }()
	}
	s.onClose(func() error { cancel(); return errors.Join(<-done, <-done) })
}

func (s *stage) makeKey(ctx context.Context) error {
	admin := jobs.NewAdmin(s.pool)
	tenant, err := admin.CreateTenant(ctx, "bench")
	if err != nil {
		return err
	}
	_, s.token, err = admin.CreateKey(ctx, jobs.NewKey{TenantID: tenant.ID, Name: "bench", Kind: jobs.KindAgent, Scopes: jobs.AllScopes()})
	if err != nil {
		return err
	}
	s.caller, err = s.first.Authenticate(ctx, s.token)
	return err
}

// describe prints what the numbers depend on.
func (s *stage) describe(ctx context.Context) error {
	var text string
	err := s.pool.QueryRow(ctx, `
		SELECT 'PostgreSQL ' || current_setting('server_version') || ', ' || string_agg(name || ' = ' || current_setting(name), ', ' ORDER BY name)
		FROM pg_settings WHERE name = ANY ($1)`,
		[]string{"fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "shared_buffers", "max_wal_size"}).Scan(&text)
	if err != nil {
		return err
	}
	_, err = fmt.Printf("%s; data in %s\n%s on %d CPUs; %d clients, pool of %d\n\n",
		text, os.TempDir(), runtime.Version(), runtime.NumCPU(), clients, poolSize)
	return err
}

func (s *stage) onClose(f func() error) { s.closers = append(s.closers, f) }

// close undoes all, last things first.
func (s *stage) close() {
	for _, f := range slices.Backward(s.closers) {
		if err := f(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}
}

// instant is a driver that makes nothing and tells when it is called.
type instant struct {
	provider.Driver // what is never called
	called          chan time.Time
}

func (d *instant) Provision(context.Context, *provider.Request) (provider.Endpoint, error) {
	select {
	case d.called <- time.Now():
	default: // nobody measures
	}
	return provider.Endpoint{"host": "localhost"}, nil
}

func (*instant) Bind(context.Context, *provider.Request) (provider.Credentials, error) {
	return provider.Credentials{"password": "none"}, nil
}

func (*instant) Deprovision(context.Context, *provider.Request) error { return nil }

func (*instant) Find(context.Context, *provider.Request) ([]provider.Object, error) { return nil, nil }
