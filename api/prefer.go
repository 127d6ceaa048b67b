package api

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// waitOf is how long a poll is held: the query's wait or, without one, Prefer's, cut to the maximum.
// The second result is the answer's Preference-Applied, nil where no wait was asked for.
func (s *server) waitOf(query *int, prefer *string) (time.Duration, *string) {
	asked := preferredWait(deref(prefer))
	if query != nil {
		asked = *query
	}
	if asked <= 0 {
		return 0, nil
	}
	most := int(s.maxWait / time.Second)
	applied := min(asked, most)
	header := fmt.Sprintf("wait=%d", applied)
	return time.Duration(applied) * time.Second, &header
}

// preferredWait finds wait=N in a Prefer header (RFC 7240): the first one counts, names are
// case-insensitive, a value may be quoted, and what is malformed is ignored. 0 for none.
func preferredWait(header string) int {
	for preference := range strings.SplitSeq(header, ",") {
		preference, _, _ = strings.Cut(preference, ";") // parameters of the preference
		name, value, _ := strings.Cut(preference, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "wait") {
			continue
		}
		seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31)
		if err != nil {
			return 0
		}
		return int(seconds)
	}
	return 0
}

// seconds rounds up to whole seconds.
func seconds(d time.Duration) int {
	return int((d + time.Second - 1) / time.Second)
}
