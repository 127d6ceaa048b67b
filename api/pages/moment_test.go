package pages_test

import (
	"testing"
	"time"

	"github.com/provisiond/provisiond/api/pages"
)

func TestMoment(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 28, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		away time.Duration
		want string
	}{
		{0, "less than a minute ago"},
		{time.Second, "in less than a minute"},
		{-59 * time.Second, "less than a minute ago"},
		{time.Minute, "in a minute"},
		{-90 * time.Second, "2 minutes ago"},
		{59*time.Minute + 59*time.Second, "in 60 minutes"},
		{2 * time.Hour, "in 2 hours"},
		{24*time.Hour - time.Second, "in 24 hours"},
		{-48 * time.Hour, "2 days ago"},
		{30 * 24 * time.Hour, "in 30 days"},
	} {
		if got := pages.NewMoment(now.Add(tt.away), now).Away; got != tt.want {
			t.Errorf("%v: %q, want %q", tt.away, got, tt.want)
		}
	}
}
