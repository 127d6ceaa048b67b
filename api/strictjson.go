package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/provisiond/provisiond/jobs/catalog"
)

// Bounds of a JSON body, beside its size.
const (
	maxDepth = 32
	// Arithmetic on a number of arbitrary size would let a request of a few bytes take minutes.
	maxNumber   = 64 // characters
	maxExponent = 308
	maxInteger  = 1<<53 - 1
)

// parseJSON reads a body that is exactly one JSON value and means the same to every reader: no
// duplicate keys, no invalid UTF-8 or halves of surrogate pairs (encoding/json would replace them),
// no NUL (PostgreSQL cannot hold it), no number that readers would round (RFC 7493, section 2.2).
// Numbers become json.Number, whole ones without fraction and exponent. The error is a *fault.
func parseJSON(data []byte) (any, error) {
	if len(bytes.TrimLeft(data, " \t\r\n")) == 0 {
		return nil, malformed("", "a JSON body is required")
	}
	if !utf8.Valid(data) {
		return nil, malformed("", "the body must be valid UTF-8")
	}
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, malformed("", notJSON(err))
	}
	if hasHalfPair(data) {
		return nil, malformed("", `the body must not hold half a surrogate pair (\ud800 to \udfff)`)
	}
	p := jsonParser{json.NewDecoder(bytes.NewReader(data)), nil}
	p.UseNumber()
	return p.value()
}

// notJSON tells the place of a syntax error. Its text could quote the body.
func notJSON(err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("the body must be one JSON value; it breaks off or goes wrong at byte %d", syntax.Offset)
	}
	return "the body must be one JSON value"
}

// jsonParser builds the value of a text that is known to be JSON.
type jsonParser struct {
	*json.Decoder
	at []string // where the parser is
}

func (p *jsonParser) fault(rule string) error { return malformed(catalog.Pointer(p.at...), rule) }

func (p *jsonParser) value() (any, error) {
	token, err := p.Token()
	if err != nil {
		return nil, malformed("", notJSON(err))
	}
	switch t := token.(type) {
	case json.Delim:
		if len(p.at) >= maxDepth {
			return nil, malformed(catalog.Pointer(p.at[0]), fmt.Sprintf("must not be nested deeper than %d levels", maxDepth))
		}
		if t == '{' {
			return p.object()
		}
		return p.array()
	case string:
		if strings.ContainsRune(t, 0) {
			return nil, p.fault("must not contain the NUL character")
		}
	case json.Number:
		if !ordinary(t) {
			return nil, p.fault("must be a number that a 64-bit float holds, and a whole one within ±9007199254740991; " +
				"a string can hold more")
		}
		return plainInteger(t), nil
	}
	return token, nil
}

func (p *jsonParser) object() (any, error) {
	object := map[string]any{}
	for p.More() {
		token, err := p.Token()
		if err != nil {
			return nil, malformed("", notJSON(err))
		}
		name, _ := token.(string) // nothing else stands before a colon
		p.at = append(p.at, name)
		if _, twice := object[name]; twice {
			return nil, p.fault("is given twice")
		}
		if strings.ContainsRune(name, 0) {
			return nil, p.fault("has the NUL character in its name")
		}
		if object[name], err = p.value(); err != nil {
			return nil, err
		}
		p.at = p.at[:len(p.at)-1]
	}
	_, err := p.Token() // the closing brace
	return object, err
}

func (p *jsonParser) array() (any, error) {
	array := []any{}
	for p.More() {
		p.at = append(p.at, strconv.Itoa(len(array)))
		item, err := p.value()
		if err != nil {
			return nil, err
		}
		array = append(array, item)
		p.at = p.at[:len(p.at)-1]
	}
	_, err := p.Token() // the closing bracket
	return array, err
}

// ordinary reports whether a number can be held and calculated with.
func ordinary(n json.Number) bool {
	if len(n) > maxNumber {
		return false
	}
	if !strings.ContainsAny(string(n), ".eE") {
		i, err := n.Int64()
		return err == nil && -maxInteger <= i && i <= maxInteger
	}
	if i := strings.IndexAny(string(n), "eE"); i >= 0 {
		exponent, err := strconv.Atoi(string(n[i+1:]))
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return false
		}
	}
	_, err := n.Float64()
	return err == nil
}

// plainInteger writes an ordinary number that is whole, such as 61.0 or 6.1e1, as an integer: to JSON Schema it is
// one (2020-12, section 4.2.3), and encoding/json does not read it as one. What is no integer that readers hold
// exactly stays as it is.
func plainInteger(n json.Number) json.Number {
	if !strings.ContainsAny(string(n), ".eE") {
		return n
	}
	exact, ok := new(big.Rat).SetString(string(n))
	if !ok || !exact.IsInt() || exact.Num().CmpAbs(big.NewInt(maxInteger)) > 0 {
		return n
	}
	return json.Number(exact.Num().String())
}

// hasHalfPair reports whether JSON text has a \u escape of a surrogate without its other half.
func hasHalfPair(data []byte) bool {
	for {
		i := bytes.IndexByte(data, '\\')
		if i < 0 {
			return false
		}
		data = data[i:]
		first, ok := escapedUnit(data)
		if !ok {
			data = data[2:] // another escape, perhaps of a backslash
			continue
		}
		data = data[6:]
		if !utf16.IsSurrogate(first) {
			continue
		}
		second, ok := escapedUnit(data)
		if !ok || utf16.DecodeRune(first, second) == utf8.RuneError {
			return true
		}
		data = data[6:]
	}
}

// escapedUnit reads the UTF-16 unit of an escape such as \ud83d at the start of the data.
func escapedUnit(data []byte) (rune, bool) {
	if len(data) < 6 || !slices.Equal(data[:2], []byte(`\u`)) {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	return rune(unit), err == nil
}
