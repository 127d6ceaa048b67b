package pages

import (
	"fmt"
	"time"
)

// Moment is a time, and how far away it is in words.
type Moment struct {
	At   time.Time
	Away string
}

// NewMoment says how far a time is from now, such as "in 5 hours" or "2 minutes ago".
func NewMoment(at, now time.Time) Moment {
	if away := at.Sub(now); away > 0 {
		return Moment{at, "in " + inWords(away)}
	}
	return Moment{at, inWords(now.Sub(at)) + " ago"}
}

// inWords rounds to minutes below two hours, to hours below two days, else to days.
func inWords(d time.Duration) string {
	switch minutes := d.Round(time.Minute) / time.Minute; {
	case d < time.Minute:
		return "less than a minute"
	case minutes == 1:
		return "a minute"
	case minutes < 120:
		return fmt.Sprintf("%d minutes", minutes)
	case minutes < 48*60:
		return fmt.Sprintf("%d hours", d.Round(time.Hour)/time.Hour)
	default:
		return fmt.Sprintf("%d days", d.Round(24*time.Hour)/(24*time.Hour))
	}
}

// iso writes a time for programs.
func iso(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// clock writes a time for people. The server does not know where they are.
func clock(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }
