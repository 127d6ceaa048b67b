package main

import (
	"context"
	"time"

	"github.com/provisiond/provisiond/jobs"
	"github.com/provisiond/provisiond/migrations"
)

// settle is the pause before each sample: long enough for the replicas to be idle, and for a request
// just sent to be waiting.
const settle = 50 * time.Millisecond

// wakeUp polls a job on the second replica with a wait, ends the job on the first, and takes the time
// from that call's return, right after its commit, to the poll's answer.
func (s *stage) wakeUp(ctx context.Context, o options) (delay, error) {
	handler, err := handlerOf(s.second)
	if err != nil {
		return delay{}, err
	}
	address, err := s.serve(handler)
	if err != nil {
		return delay{}, err
	}
	p, err := s.dial(address)
	if err != nil {
		return delay{}, err
	}
	out := delay{name: "wake-up on another replica", wanted: 15 * time.Millisecond}
	for range o.samples {
		started, err := s.first.Start(ctx, s.caller, plainStart())
		if err != nil {
			return delay{}, err
		}
		answered := make(chan error, 1)
		var at time.Time
		go func() {
			err := p.get("/v1/jobs/" + started.Job.ID + "?wait=20")
			at = time.Now()
			answered <- err
		}()
		time.Sleep(settle)
		if _, err := s.first.Cancel(ctx, s.caller, started.Job.ID, ""); err != nil {
			return delay{}, err
		}
		committed := time.Now()
		if err := <-answered; err != nil {
			return delay{}, err
		}
		out.samples = append(out.samples, at.Sub(committed))
	}
	return out, nil
}

// toWork starts jobs one at a time on a replica that works, and takes the time to the driver's call.
func (s *stage) toWork(ctx context.Context, o options) (delay, error) {
	if err := s.abandonStarted(ctx); err != nil {
		return delay{}, err
	}
	worker, err := s.first.StartWorker(ctx)
	if err != nil {
		return delay{}, err
	}
	s.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return worker.Stop(ctx)
	})
	out := delay{name: "idle start to work", wanted: 10 * time.Millisecond}
	for range o.samples {
		time.Sleep(settle)
		started, err := s.first.Start(ctx, s.caller, plainStart())
		if err != nil {
			return delay{}, err
		}
		began := time.Now()
		out.samples = append(out.samples, (<-s.driver.called).Sub(began))
		if err := s.awaitEnd(ctx, started.Job.ID); err != nil {
			return delay{}, err
		}
	}
	return out, nil
}

// abandonStarted removes the tickets of all jobs before, so that the worker finds no backlog.
func (s *stage) abandonStarted(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `TRUNCATE `+migrations.RiverSchema+`.river_job`)
	return err
}

func (s *stage) awaitEnd(ctx context.Context, jobID string) error {
	for {
		j, err := s.first.Wait(ctx, s.caller, jobID, 0, time.Minute)
		if err != nil || j.State != jobs.Pending {
			return err
		}
	}
}
