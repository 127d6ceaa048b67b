package api

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/provisiond/provisiond/api/pages"
)

// longText is from which length on a text gets several lines, in characters.
const longText = 200

// kind is how the property is shown, where it is not secret.
func (p *flatProperty) kind() pages.FieldKind {
	switch {
	case p.Type == "array":
		return pages.Checkboxes
	case p.Type == "boolean" || len(p.Enum) > 0 || len(p.OneOf) > 0:
		return pages.Radios
	case p.Type == "integer" && !p.mayBeNegative():
		return pages.Integer
	case p.Type == "number" && !p.mayBeNegative():
		return pages.Number
	}
	switch p.Format {
	case "email":
		return pages.Email
	case "uri":
		return pages.URL
	case "date":
		return pages.Date
	case "date-time":
		return pages.DateTime
	}
	if p.MaxLength != nil && *p.MaxLength > longText {
		return pages.TextArea
	}
	return pages.Text
}

// mayBeNegative: phones' keyboards for numbers have no minus sign.
func (p *flatProperty) mayBeNegative() bool {
	return p.Minimum == "" || strings.HasPrefix(string(p.Minimum), "-")
}

// hint is the property's description and what its value must be.
func (p *flatProperty) hint() string {
	parts := []string{}
	if p.Description != "" {
		parts = append(parts, sentence(p.Description))
	}
	for _, rule := range []string{
		between("", string(p.Minimum), string(p.Maximum)),
		between("character", text(p.MinLength), text(p.MaxLength)),
		between("choice", text(p.MinItems), text(p.MaxItems)),
	} {
		if rule != "" {
			parts = append(parts, rule)
		}
	}
	switch {
	case p.Type == "array":
		parts = append(parts, "Choose all that apply.")
	case p.Format == "date-time":
		parts = append(parts, "The time is in UTC.")
	}
	return strings.Join(parts, " ")
}

func text(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// between is the rule of two bounds, of which each may be "". They count things where there is a thing.
func between(thing, least, most string) string {
	if thing != "" {
		thing = " " + thing
		if cmp.Or(most, least) != "1" {
			thing += "s"
		}
	}
	switch {
	case least != "" && most != "":
		return fmt.Sprintf("From %s to %s%s.", least, most, thing)
	case least != "":
		return fmt.Sprintf("At least %s%s.", least, thing)
	case most != "":
		return fmt.Sprintf("At most %s%s.", most, thing)
	default:
		return ""
	}
}

// shownDefault is the default as the field's control writes it.
func (p *flatProperty) shownDefault() string {
	if p.Default == nil {
		return ""
	}
	value := fmt.Sprint(p.Default)
	if at, err := time.Parse(time.RFC3339, value); p.Format == "date-time" && err == nil {
		return at.UTC().Format(localTime)
	}
	return value
}
