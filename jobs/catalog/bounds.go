package catalog

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of what users send as parameters and answers.
const (
	maxText   = 64 << 10 // bytes in one string
	maxName   = 255      // bytes in the name of a field
	maxErrors = 50       // faults reported at once
	maxNumber = 64       // characters of a number
	// maxExponent is float64's. Arithmetic on numbers of arbitrary size would let a request of a few
	// bytes take minutes.
	maxExponent = 308
)

// textRule says what is wrong with a string, or "". PostgreSQL can hold neither NUL nor invalid UTF-8.
func textRule(s string) string {
	switch {
	case strings.ContainsRune(s, 0):
		return "must not contain the NUL character"
	case !utf8.ValidString(s):
		return "must be valid UTF-8"
	case len(s) > maxText:
		return fmt.Sprintf("must not be longer than %d bytes", maxText)
	}
	return ""
}

// numberRule says what is wrong with a number, or "".
func numberRule(n json.Number) string {
	const rule = "must be a finite number of ordinary size"
	if len(n) > maxNumber || !json.Valid([]byte(n)) {
		return rule
	}
	if i := strings.IndexAny(string(n), "eE"); i >= 0 {
		exponent, err := strconv.Atoi(string(n[i+1:]))
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return rule
		}
	}
	return ""
}

// checkBounds finds what no schema may let through: it runs before the validation, which must not see
// such values.
func checkBounds(v any) []FieldError {
	var errs []FieldError
	walkBounds(v, nil, &errs)
	return limit(errs)
}

func walkBounds(v any, at []string, errs *[]FieldError) {
	rule := ""
	switch v := v.(type) {
	case string:
		rule = textRule(v)
	case json.Number:
		rule = numberRule(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			rule = "must be a finite number"
		}
	case []any:
		for i, item := range v {
			walkBounds(item, append(at, strconv.Itoa(i)), errs)
		}
	case map[string]any:
		for name, value := range v {
			if len(name) > maxName || textRule(name) != "" {
				rule = fmt.Sprintf("must have field names of at most %d bytes of UTF-8 without NUL", maxName)
				continue
			}
			walkBounds(value, append(at, name), errs)
		}
	}
	if rule != "" {
		*errs = append(*errs, FieldError{Pointer: Pointer(at...), Detail: rule})
	}
}
