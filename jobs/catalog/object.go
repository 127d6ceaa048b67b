package catalog

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
)

// An object is a mapping with known fields. Without a mapping it has none.
type object struct {
	l      *loader
	node   *node
	fields map[string]*node
}

// object reads a mapping. A field that is not known is a fault; one without a value is not there.
func (l *loader) object(n *node, known ...string) object {
	o := object{l: l, node: n, fields: map[string]*node{}}
	fields, ok := n.value.([]field)
	if !ok {
		l.add(n, "must be a mapping")
		return o
	}
	for _, f := range fields {
		switch {
		case !slices.Contains(known, f.name):
			l.addAt(f.nameAt, join(n.path(), f.name), "is unknown here; known are %s", strings.Join(known, ", "))
		case f.value.value != nil:
			o.fields[f.name] = f.value
		}
	}
	return o
}

func (o object) get(name string) *node { return o.fields[name] }

// or returns the field, or the whole mapping as the place for a fault of a field that is not there.
func (o object) or(name string) *node {
	if n := o.fields[name]; n != nil {
		return n
	}
	return o.node
}

func (o object) require(names ...string) {
	if _, ok := o.node.value.([]field); !ok {
		return // a fault already
	}
	for _, name := range names {
		if o.fields[name] == nil {
			o.l.add(o.node, "%s is required", name)
		}
	}
}

// The following take a node that may be nil, for a field that is not there, and give the zero value
// then and after a fault.

func (l *loader) text(n *node) string {
	if n == nil {
		return ""
	}
	s, ok := n.value.(string)
	if !ok {
		l.add(n, "must be a string (put it in quotes)")
	}
	return s
}

func (l *loader) texts(n *node) []string {
	var texts []string
	for _, item := range l.list(n) {
		texts = append(texts, l.text(item))
	}
	return texts
}

func (l *loader) boolean(n *node) bool {
	if n == nil {
		return false
	}
	b, ok := n.value.(bool)
	if !ok {
		l.add(n, "must be true or false")
	}
	return b
}

func (l *loader) duration(n *node) time.Duration {
	if n == nil {
		return 0
	}
	s, _ := n.value.(string)
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		l.add(n, "must be a duration above zero, such as 90s, 10m or 1h30m")
		return 0
	}
	return d
}

func (l *loader) list(n *node) []*node {
	if n == nil {
		return nil
	}
	items, ok := n.value.([]*node)
	if !ok || len(items) == 0 {
		l.add(n, "must be a list of at least one item")
	}
	return items
}

// json gives a driver's mapping, {} where it is not there.
func (l *loader) json(n *node) json.RawMessage {
	if n == nil {
		return json.RawMessage("{}")
	}
	if _, ok := n.value.([]field); !ok {
		l.add(n, "must be a mapping")
		return json.RawMessage("{}")
	}
	return encode(n.plain())
}

// ids remembers where each ID was given first.
type ids map[string]place

var idForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

func (l *loader) id(n *node, seen ids) string {
	if n == nil {
		return ""
	}
	id, _ := n.value.(string)
	if !idForm.MatchString(id) {
		l.add(n, "must match %s", idForm)
		return ""
	}
	if first, ok := seen[id]; ok {
		l.add(n, "is the same as on line %d", first.line)
		return id
	}
	seen[id] = n.place
	return id
}
