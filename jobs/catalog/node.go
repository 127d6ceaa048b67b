package catalog

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A place is a line and a column of the file, both counted from 1.
type place struct{ line, column int }

// A node is a value of the file that knows where it stands. Aliases are followed and merge keys are
// merged already.
type node struct {
	place
	parent *node
	step   string // how the parent leads here: "name" or "[2]"
	// value is nil, string, bool, json.Number, []field or []*node.
	value any
}

type field struct {
	name   string
	nameAt place
	value  *node
}

// path is how people name the value: services[0].plans[1].price.
func (n *node) path() string {
	if n.parent == nil {
		return ""
	}
	return join(n.parent.path(), n.step)
}

func join(path, step string) string {
	if path == "" || strings.HasPrefix(step, "[") {
		return path + step
	}
	return path + "." + step
}

// find follows the steps as far as they go, so that a fault in a part of the value gets the best
// place there is.
func (n *node) find(steps []string) *node {
	for _, step := range steps {
		next := n.child(step)
		if next == nil {
			break
		}
		n = next
	}
	return n
}

func (n *node) child(step string) *node {
	switch v := n.value.(type) {
	case []field:
		for _, f := range v {
			if f.name == step {
				return f.value
			}
		}
	case []*node:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}

// plain is the value as encoding/json would decode it with UseNumber.
func (n *node) plain() any {
	switch v := n.value.(type) {
	case []field:
		object := make(map[string]any, len(v))
		for _, f := range v {
			object[f.name] = f.value.plain()
		}
		return object
	case []*node:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = item.plain()
		}
		return list
	default:
		return v
	}
}

// encode marshals what came out of a catalog. Such values always have a JSON form.
func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("catalog: a checked value has no JSON form: %v", err))
	}
	return data
}
