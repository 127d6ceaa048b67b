package jobs

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// The bounds of a page.
const (
	pageDefault = 50
	pageMax     = 200
)

// cursorTag is how many bytes of the list's digest a cursor carries: enough to tell one that belongs
// to another list or other filters. What a caller may see is decided by the query, not by its cursor.
const cursorTag = 8

// size is the page's limit as applied.
func (p PageRequest) size() int {
	if p.Limit <= 0 {
		return pageDefault
	}
	return min(p.Limit, pageMax)
}

// encodeCursor makes the cursor that begins after the given key of the list.
func encodeCursor(list any, after string) (string, error) {
	digest, err := digestOf(list)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(digest[:cursorTag:cursorTag], after...)), nil
}

// decodeCursor gives the key after which a page begins; "" for the first page. Error: InvalidCursor.
func decodeCursor(list any, cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	invalid := &Error{Code: InvalidCursor, Detail: "The cursor does not belong to this list with these filters; begin anew without it."}
	digest, err := digestOf(list)
	if err != nil {
		return "", err
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) <= cursorTag || !bytes.Equal(raw[:cursorTag], digest[:cursorTag]) {
		return "", invalid
	}
	after := string(raw[cursorTag:])
	if len(after) > 100 || strings.ContainsFunc(after, func(r rune) bool { return r < '!' || r > '~' }) {
		return "", invalid
	}
	return after, nil
}

// pageOf cuts one more row than the page holds into the page and its cursor.
func pageOf[T any](items []T, size int, list any, key func(*T) string) (Page[T], error) {
	if items == nil {
		items = []T{}
	}
	if len(items) <= size {
		return Page[T]{Items: items}, nil
	}
	items = items[:size]
	next, err := encodeCursor(list, key(&items[size-1]))
	return Page[T]{Items: items, NextCursor: next}, err
}
