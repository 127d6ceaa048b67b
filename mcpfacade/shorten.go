package mcpfacade

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

var errTooLarge = errors.New("the answer is too large for a tool's result")

// shorten brings an answer under maxResult: it cuts long strings, and then the end of a list, both
// marked. It changes the answer's next step where the model must know.
func shorten(a *answer) (json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(a.body))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("read the API's answer: %w", err)
	}
	for name, value := range object {
		object[name] = cutStrings(value)
	}
	body, err := json.Marshal(object)
	if err != nil || len(body) <= maxResult {
		return body, err
	}
	return dropItems(a, object)
}

// cutStrings cuts all strings within a value that are longer than maxString.
func cutStrings(value any) any {
	switch v := value.(type) {
	case string:
		if len(v) <= maxString {
			return v
		}
		end := maxString
		for !utf8.RuneStart(v[end]) {
			end--
		}
		return fmt.Sprintf("%s… [cut here; %d bytes in all]", v[:end], len(v))
	case []any:
		for i := range v {
			v[i] = cutStrings(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = cutStrings(v[name])
		}
	}
	return value
}

// dropItems keeps as many items of a list as fit. The cursor goes too, since it would lead past those
// that were dropped.
func dropItems(a *answer, object map[string]any) (json.RawMessage, error) {
	items, ok := object["items"].([]any)
	if !ok {
		return nil, errTooLarge
	}
	delete(object, "next_cursor")
	object["truncated"] = true
	for len(items) > 0 {
		items = items[:len(items)/2]
		object["items"] = items
		body, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		if len(items) > 0 && len(body) <= maxResult {
			a.nextStep = fmt.Sprintf("This page was too large and is truncated. Call the tool again with the same "+
				"arguments and limit %d; that page has a cursor for the next.", len(items))
			return body, nil
		}
	}
	return nil, errTooLarge
}
