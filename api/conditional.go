package api

import (
	"slices"
	"strconv"
	"strings"
)

// ifNoneMatch is a parsed If-None-Match header (RFC 9110, section 13.1.2).
type ifNoneMatch struct {
	any  bool     // "*"
	tags []string // with their quotes, without W/: the comparison is weak
}

// parseIfNoneMatch reads the header; what is not of its form matches nothing.
func parseIfNoneMatch(header *IfNoneMatch) ifNoneMatch {
	rest := strings.TrimSpace(deref(header))
	if rest == "*" {
		return ifNoneMatch{any: true}
	}
	var m ifNoneMatch
	for rest != "" {
		rest = strings.TrimPrefix(rest, "W/")
		if !strings.HasPrefix(rest, `"`) {
			return ifNoneMatch{}
		}
		end := strings.IndexByte(rest[1:], '"')
		if end < 0 {
			return ifNoneMatch{}
		}
		m.tags = append(m.tags, rest[:end+2])
		rest = strings.TrimLeft(rest[end+2:], " \t")
		if rest != "" && rest[0] != ',' {
			return ifNoneMatch{}
		}
		rest = strings.TrimLeft(rest, ", \t")
	}
	return m
}

// matches reports whether the client has what the entity tag stands for.
func (m ifNoneMatch) matches(etag string) bool {
	return m.any || slices.Contains(m.tags, etag)
}

// version is the newest job version that the client has, or 0 where it names none.
func (m ifNoneMatch) version() int64 {
	var newest int64
	for _, tag := range m.tags {
		if v, err := strconv.ParseInt(strings.Trim(tag, `"`), 10, 64); err == nil {
			newest = max(newest, v)
		}
	}
	return newest
}

// etagOf is the entity tag of a job's version.
func etagOf(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }
