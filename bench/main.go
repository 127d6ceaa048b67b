// Command bench measures what provisiond adds to what it is built on, and what a waiting client feels.
// It prints a table and judges nothing: run it on a quiet machine, before and after a change.
//
//   - start: [jobs.Service.Start] against a bare transaction with one row and River's InsertTx;
//   - poll: GET /v1/jobs/{job_id} through the whole HTTP stack against a plain echo handler with one
//     SELECT by primary key of the same row;
//   - wake-up: from the commit of a change on one replica to the answer of a poll that waits on another;
//   - to work: from Start's return to the driver's call, while nothing else goes on. It can be below 0:
//     the worker may be faster than the way back from the commit.
//
// Rates differ several times between machines and between minutes, so both sides of a ratio are
// measured in turn, in short rounds, on one PostgreSQL that is as durable as in production.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"text/tabwriter"
	"time"
)

// clients is how many calls are under way at once.
const clients = 16

type options struct {
	rounds  int
	round   time.Duration
	samples int
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 15, "rounds of each ratio")
	flag.DurationVar(&o.round, "round", 500*time.Millisecond, "how long each side of a ratio runs in each round")
	flag.IntVar(&o.samples, "samples", 100, "samples of each time")
	flag.Parse()
	if o.rounds < 1 || o.samples < 1 {
		fmt.Fprintln(os.Stderr, "bench: -rounds and -samples must be at least 1")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) // so that Ctrl-C leaves nothing behind
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	s, err := newStage(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.describe(ctx); err != nil {
		return err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ratio\tprovisiond\tbase\tmedian\tmin\tmax\twanted")
	for _, m := range []func(context.Context, options) (ratio, error){s.start, s.poll} {
		r, err := m(ctx, o)
		if err != nil {
			return err
		}
		fmt.Fprintln(table, r)
	}
	fmt.Fprintln(table, "\ntime\t\t\tmedian\tmin\tmax\twanted")
	for _, m := range []func(context.Context, options) (delay, error){s.wakeUp, s.toWork} {
		d, err := m(ctx, o)
		if err != nil {
			return err
		}
		fmt.Fprintln(table, d)
	}
	return table.Flush()
}
