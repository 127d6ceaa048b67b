package client

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

const (
	firstPause = 250 * time.Millisecond
	// maxPause bounds the back-off.
	maxPause = 8 * time.Second
	// maxRetryAfter is the longest Retry-After that a call sits out. With a longer one the caller
	// gets the answer, to decide.
	maxRetryAfter = time.Minute
)

// pauseBefore says how long to wait before the next try. It is false where waiting is no use: the
// server asks for too long, or the context ends before.
func pauseBefore(ctx context.Context, try int, resp *http.Response) (time.Duration, bool) {
	pause := backoff(try)
	if resp != nil {
		after := retryAfter(resp.Header, time.Now())
		if after > maxRetryAfter {
			return 0, false
		}
		pause = max(pause, after)
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
		return 0, false
	}
	return pause, true
}

// backoff doubles with every try. Half of it is random, so that clients that failed together do not
// come back together.
func backoff(try int) time.Duration {
	full := min(firstPause<<min(try-1, 10), maxPause)
	return full/2 + rand.N(full/2)
}

// retryAfter reads Retry-After, in seconds or as a date (RFC 9110, 10.2.3); 0 where there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(max(min(seconds, 24*60*60), 0)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// sleep waits for d or for the end of ctx, whose error it then returns.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
