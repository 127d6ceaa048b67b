package mcpfacade

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

var errTooLarge = errors.New("the answer is too large for a tool's result")

// shorten brings an answer under maxResult: it cuts long strings, and marks them.
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
	if err == nil && len(body) > maxResult {
		err = errTooLarge
	}
	return body, err
}

// cutStrings cuts all strings within a value that are longer than maxString.
func cutStrings(value any) any {
	switch v := value.(type) {
	case string:
		if len(v) <= maxString {
			return v
		}
		return fmt.Sprintf("%s [cut here; %d bytes in all]", clip(v, maxString), len(v))
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

// clip cuts a text to so many bytes, at a character's end.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
