package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// deref follows a $ref. What stands beside it, such as a better description, goes before.
func (d *document) deref(raw any) (schema, error) {
	s, ok := raw.(schema)
	if !ok {
		return nil, errors.New("a schema or $ref is missing")
	}
	ref, ok := s["$ref"].(string)
	if !ok {
		return s, nil
	}
	kind, name, ok := strings.Cut(strings.TrimPrefix(ref, "#/components/"), "/")
	target, found := d.Components[kind][name]
	if !ok || !found {
		return nil, fmt.Errorf("%s does not exist", ref)
	}
	resolved, err := d.deref(target)
	if err != nil {
		return nil, err
	}
	merged := maps.Clone(resolved)
	maps.Copy(merged, s)
	delete(merged, "$ref")
	return merged, nil
}

// resolve copies a schema with every $ref replaced and only the keywords of keep.
func (d *document) resolve(raw any, keep []string) (schema, error) {
	s, err := d.deref(raw)
	if err != nil {
		return nil, err
	}
	out := schema{}
	for keyword, value := range s {
		if !slices.Contains(keep, keyword) {
			continue
		}
		if out[keyword], err = d.keyword(keyword, value, keep); err != nil {
			return nil, fmt.Errorf("%s: %w", keyword, err)
		}
	}
	return out, nil
}

// keyword copies the value of one keyword, with the schemas in it resolved.
func (d *document) keyword(keyword string, value any, keep []string) (any, error) {
	switch v := value.(type) {
	case schema:
		if keyword != "properties" {
			return d.resolve(v, keep)
		}
		properties := schema{}
		for name, raw := range v {
			s, err := d.resolve(raw, keep)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			properties[name] = s
		}
		return properties, nil
	case string:
		if keyword == "description" {
			return strings.Join(strings.Fields(v), " "), nil
		}
	}
	return value, nil
}

// union is an object schema that both kinds of objects fit: it has the properties of both.
func union(a, b schema) schema {
	out := maps.Clone(a)
	pa, _ := a["properties"].(schema)
	pb, _ := b["properties"].(schema)
	if pa != nil && pb != nil {
		properties := maps.Clone(pb)
		for name, s := range pa {
			properties[name] = s
			if other, both := pb[name].(schema); both {
				properties[name] = union(s.(schema), other)
			}
		}
		out["properties"] = properties
	}
	ia, _ := a["items"].(schema)
	ib, _ := b["items"].(schema)
	if ia != nil && ib != nil {
		out["items"] = union(ia, ib)
	}
	return out
}

// keepOnly leaves out the properties of an object, or of the items of a list, that are not named; nil names
// all.
func keepOnly(s schema, names []string) error {
	if names == nil {
		return nil
	}
	if items, ok := at(s, "properties", "items", "items").(schema); ok {
		return keepOnly(items, names)
	}
	properties, _ := s["properties"].(schema)
	for _, name := range names {
		if _, ok := properties[name]; !ok {
			return fmt.Errorf("no property is called %s", name)
		}
	}
	maps.DeleteFunc(properties, func(name string, _ any) bool { return !slices.Contains(names, name) })
	return nil
}

// cutBelow leaves out the properties of objects more than depth levels down. An array is no level.
func cutBelow(s schema, depth int) {
	if items, ok := s["items"].(schema); ok {
		cutBelow(items, depth)
	}
	properties, ok := s["properties"].(schema)
	if !ok {
		return
	}
	if depth == 0 {
		delete(s, "properties")
		return
	}
	for _, property := range properties {
		cutBelow(property.(schema), depth-1)
	}
}

// at walks down a tree of maps; nil where the path ends early.
func at(tree any, path ...string) any {
	for _, name := range path {
		m, _ := tree.(schema)
		tree = m[name]
	}
	return tree
}

func stringsOf(list any) []string {
	switch l := list.(type) {
	case []string:
		return slices.Clone(l)
	case []any:
		var out []string
		for _, v := range l {
			if s, ok := v.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}
