package sandbox

import (
	"encoding/json"
	"errors"
	"time"
)

// A duration is written as Go writes it, such as "1m30s". It is not negative.
type duration time.Duration

// Takes implements what provider.DecodeFields asks for.
func (*duration) Takes() string { return `a duration of 0 or more, such as "90s"` }

// UnmarshalJSON implements json.Unmarshaler.
func (d *duration) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(s)
	if err == nil && parsed < 0 {
		err = errors.New("negative duration")
	}
	*d = duration(parsed)
	return err
}

// times is how often something happens. It is written as a number or as "always".
type times int

// Takes implements what provider.DecodeFields asks for.
func (*times) Takes() string { return `an integer of 0 or more, or "always"` }

const always times = -1

// UnmarshalJSON implements json.Unmarshaler.
func (t *times) UnmarshalJSON(text []byte) error {
	if string(text) == `"always"` {
		*t = always
		return nil
	}
	var n int
	if err := json.Unmarshal(text, &n); err != nil {
		return err
	}
	if n < 0 {
		return errors.New("negative number")
	}
	*t = times(n)
	return nil
}

// more reports whether it happens again after it has happened n times.
func (t times) more(n int) bool { return t == always || n < int(t) }
