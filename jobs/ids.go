package jobs

import "go.jetify.com/typeid"

// newID makes a TypeID: the prefix and a UUIDv7, so that IDs sort by time and cannot be guessed
// (74 random bits).
func newID(prefix string) string {
	// The prefixes are constants of this package; typeid refuses only malformed ones.
	return typeid.Must(typeid.WithPrefix(prefix)).String()
}

// NewRequestID makes an ID for one HTTP request, such as req_01h455vb4pex5vsknk084sn02q.
func NewRequestID() string { return newID("req") }
