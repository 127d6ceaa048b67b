package client

import (
	"context"
	"time"
)

// RecordPauses makes the SDK's pauses take no time and gives each to record.
func (s *SDK) RecordPauses(record func(time.Duration)) {
	s.retry.sleep = func(ctx context.Context, d time.Duration) error {
		record(d)
		return ctx.Err()
	}
}

// Internals that are tested on their own.
var (
	Backoff    = backoff
	RetryAfter = retryAfter
)

// MaxPause bounds the back-off.
const MaxPause = maxPause
