package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Bounds of a catalog file. An alias counts as often as it is used, so a small file cannot blow up.
const (
	maxFile   = 4 << 20 // bytes
	maxValues = 1_000_000
	maxDepth  = 64
)

// A reader turns YAML into nodes. YAML's own decoder stops at the first fault and does not keep
// places; this one does neither.
type reader struct {
	*faults
	*expander
	values   int
	overfull bool
	open     map[*yaml.Node]bool // the anchors that are being read, to refuse one within itself
}

// read returns the file's value, or nil after a fault that leaves nothing to look at.
func (r *reader) read(data []byte) *node {
	if len(data) > maxFile {
		r.addAt(place{}, "", "must not be over %d MiB", maxFile>>20)
		return nil
	}
	var doc yaml.Node
	if err := yaml.Load(data, &doc); err != nil {
		r.syntax(err)
		return nil
	}
	return r.node(doc.Content[0], nil, "", 0)
}

func (r *reader) syntax(err error) {
	var errs *yaml.LoadErrors
	var single *yaml.LoadError
	switch {
	case errors.As(err, &errs):
		for _, e := range errs.Errors {
			r.syntaxError(e)
		}
	case errors.As(err, &single):
		r.syntaxError(single)
	default:
		r.addAt(place{}, "", "must be one YAML document")
	}
}

func (r *reader) syntaxError(e *yaml.LoadError) {
	message := strings.TrimPrefix(e.Message, "yaml: ")
	if e.ContextMsg != "" {
		message = e.ContextMsg + ": " + message
	}
	r.addAt(place{e.Mark.Line, e.Mark.Column}, "", "is not YAML: %s", message)
}

func (r *reader) node(y *yaml.Node, parent *node, step string, depth int) *node {
	n := &node{place: place{y.Line, y.Column}, parent: parent, step: step}
	if r.values++; r.values > maxValues {
		if !r.overfull {
			r.add(n, "the file has more than %d values, with each use of an alias counted", maxValues)
		}
		r.overfull = true
		return n
	}
	if depth > maxDepth {
		r.add(n, "must not be nested deeper than %d levels", maxDepth)
		return n
	}
	switch y.Kind {
	case yaml.AliasNode:
		return r.alias(y, n, depth)
	case yaml.MappingNode:
		n.value = r.mapping(y, n, depth)
	case yaml.SequenceNode:
		n.value = r.sequence(y, n, depth)
	case yaml.ScalarNode:
		n.value = r.scalar(y, n)
	default:
		r.add(n, "is not a value")
	}
	return n
}

func (r *reader) alias(y *yaml.Node, n *node, depth int) *node {
	if r.open[y.Alias] {
		r.add(n, "must not use an alias within its own anchor")
		return n
	}
	return r.node(y.Alias, n.parent, n.step, depth+1)
}

func (r *reader) sequence(y *yaml.Node, n *node, depth int) []*node {
	r.open[y] = true
	defer delete(r.open, y)
	items := make([]*node, len(y.Content))
	for i, item := range y.Content {
		items[i] = r.node(item, n, fmt.Sprintf("[%d]", i), depth+1)
	}
	return items
}

func (r *reader) mapping(y *yaml.Node, n *node, depth int) []field {
	r.open[y] = true
	defer delete(r.open, y)
	fields := make([]field, 0, len(y.Content)/2)
	at := make(map[string]place, len(y.Content)/2)
	var merged []field
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		here := place{key.Line, key.Column}
		switch {
		case key.ShortTag() == "!!merge":
			merged = append(merged, r.merge(value, n, depth)...)
		case key.Kind != yaml.ScalarNode || strings.ContainsRune(key.Value, 0):
			r.addAt(here, n.path(), "a key must be a plain string")
		case at[key.Value] != place{}:
			r.addAt(here, join(n.path(), key.Value), "is given twice, first on line %d", at[key.Value].line)
		default:
			at[key.Value] = here
			fields = append(fields, field{key.Value, here, r.node(value, n, key.Value, depth+1)})
		}
	}
	for _, f := range merged {
		if at[f.name] == (place{}) { // the mapping's own keys win, then the earlier merge
			at[f.name] = f.nameAt
			fields = append(fields, f)
		}
	}
	return fields
}

// merge reads the value of a merge key (<<): a mapping, or a list of mappings.
func (r *reader) merge(y *yaml.Node, n *node, depth int) []field {
	source := r.node(y, n, "<<", depth+1)
	switch v := source.value.(type) {
	case []field:
		return v
	case []*node:
		var all []field
		for _, item := range v {
			fields, ok := item.value.([]field)
			if !ok {
				r.add(item, "must be a mapping to merge")
			}
			all = append(all, fields...)
		}
		return all
	default:
		r.add(source, "must be a mapping to merge")
		return nil
	}
}

func (r *reader) scalar(y *yaml.Node, n *node) any {
	switch y.ShortTag() {
	case "!!str", "!!timestamp": // JSON has no times
		return r.text(y.Value, n)
	case "!!null":
		return nil
	case "!!int", "!!float":
		return r.number(y, n)
	case "!!bool":
		var b bool
		if err := y.Decode(&b); err != nil {
			r.add(n, "must be true or false")
		}
		return b
	default:
		r.add(n, "must not have a YAML tag")
		return nil
	}
}

func (r *reader) text(s string, n *node) string {
	s, err := r.expand(s)
	if err != nil {
		r.add(n, "%v", err)
	}
	if rule := textRule(s); rule != "" {
		r.add(n, "%s", rule)
		return ""
	}
	return s
}

// number keeps a decimal as it is written and makes one of YAML's other forms, such as 0x1F.
func (r *reader) number(y *yaml.Node, n *node) any {
	number := json.Number(y.Value)
	if !json.Valid([]byte(y.Value)) {
		var v any
		if err := y.Decode(&v); err != nil {
			r.add(n, "must be a number")
			return nil
		}
		number = json.Number(fmt.Sprint(v))
	}
	if rule := numberRule(number); rule != "" {
		r.add(n, "%s", rule)
		return nil
	}
	return number
}
