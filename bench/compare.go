package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// A load is one call of a client, which makes it again and again.
type load func(ctx context.Context, client int) error

// ratio is a line of the table: what provisiond reaches of a base.
type ratio struct {
	name          string
	product, base []float64 // calls a second, by round
	wanted        float64
}

// compare lets product and base take turns, so that what else the machine does meets both.
func compare(ctx context.Context, o options, r ratio, product, base load) (ratio, error) {
	for round := range o.rounds + 1 {
		for _, side := range []struct {
			rates *[]float64
			call  load
		}{{&r.product, product}, {&r.base, base}} {
			rate, err := rateOf(ctx, o.round, side.call)
			if err != nil {
				return ratio{}, fmt.Errorf("%s: %w", r.name, err)
			}
			if round > 0 { // the first fills caches
				*side.rates = append(*side.rates, rate)
			}
		}
	}
	return r, nil
}

// rateOf is how many calls a second all clients make together.
func rateOf(ctx context.Context, d time.Duration, call load) (float64, error) {
	var calls atomic.Int64
	began := time.Now()
	var group errgroup.Group
	for client := range clients {
		group.Go(func() error {
			for time.Since(began) < d {
				if err := call(ctx, client); err != nil {
					return err
				}
				calls.Add(1)
			}
			return nil
		})
	}
	err := group.Wait()
	return float64(calls.Load()) / time.Since(began).Seconds(), err
}

// String shows the median of the ratios, not the ratio of the medians: only the sides of one round
// met the same machine.
func (r ratio) String() string {
	ratios := make([]float64, len(r.product))
	for i := range ratios {
		ratios[i] = r.product[i] / r.base[i]
	}
	return fmt.Sprintf("%s\t%.0f/s\t%.0f/s\t%.2f\t%.2f\t%.2f\t>= %.2f", r.name, median(r.product), median(r.base),
		median(ratios), slices.Min(ratios), slices.Max(ratios), r.wanted)
}

// delay is a line of the table: how long something takes.
type delay struct {
	name    string
	samples []time.Duration
	wanted  time.Duration
}

func (d delay) String() string {
	return fmt.Sprintf("%s\t\t\t%.1f ms\t%.1f ms\t%.1f ms\t< %.0f ms", d.name, milliseconds(median(d.samples)),
		milliseconds(slices.Min(d.samples)), milliseconds(slices.Max(d.samples)), milliseconds(d.wanted))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median[T float64 | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
