package jobs

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// secrets are the values that must not appear in what is shown or logged.
type secrets struct {
	values []string
}

// secretMinLength is the length from which a value is replaced: shorter ones would blank out words.
const secretMinLength = 4

// add takes the strings and numbers in a parameter or answer.
func (s *secrets) add(value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			s.add(inner)
		}
	case []any:
		for _, inner := range v {
			s.add(inner)
		}
	case map[string]string:
		for _, inner := range v {
			s.add(inner)
		}
	case nil, bool:
	default:
		if text := fmt.Sprint(v); len(text) >= secretMinLength {
			s.values = append(s.values, text, "***")
		}
	}
}

// scrub replaces the secrets in a text. It also makes the text fit for PostgreSQL.
func (s *secrets) scrub(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	return strings.NewReplacer(s.values...).Replace(text)
}

// clip cuts a text to at most n bytes, at a character.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	cut := n - len("…")
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
