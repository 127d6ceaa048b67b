package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/provisiond/provisiond/api/pages"
	"github.com/provisiond/provisiond/jobs"
)

// form is the form of a question: a field for each property of its flat schema, the required ones
// first. It turns what is posted into an answer, and leaves to the core whether that is right.
type form struct {
	fields []*formField
	secret bool
	// agreed is the yes-or-no property that accepting a price says yes to without a field; "" for none.
	agreed string
}

type formField struct {
	name     string
	property flatProperty
	view     pages.Field
	// values are what the choices stand for. Choices are posted by number, since a value may be "".
	values []any
}

// flatProperty is a property of a flat schema; see catalog.CheckFlatSchema.
type flatProperty struct {
	Type, Title, Description, Format string

	Enum  []string
	OneOf []titledValue
	Items struct {
		Enum  []string
		AnyOf []titledValue
	}
	Default              any
	Minimum, Maximum     json.Number
	MinLength, MaxLength *int
	MinItems, MaxItems   *int
}

type titledValue struct{ Const, Title string }

func newForm(q *jobs.Question) (*form, error) {
	var schema struct {
		Properties map[string]flatProperty
		Required   []string
	}
	if err := json.Unmarshal(q.Schema, &schema); err != nil { //nolint:musttag // the fields are named as JSON Schema's keywords
		return nil, fmt.Errorf("question %s: %w", q.ID, err)
	}
	names := slices.Clone(schema.Required)
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	f := &form{secret: q.Secret}
	if q.Price != nil && len(names) == 1 && schema.Properties[names[0]].Type == "boolean" {
		f.agreed = names[0]
		return f, nil
	}
	for i, name := range names {
		field := &formField{name: name, property: schema.Properties[name]}
		field.prepare("field-"+strconv.Itoa(i), slices.Contains(schema.Required, name), q.Secret)
		f.fields = append(f.fields, field)
	}
	return f, nil
}

// prepare decides how the field is shown.
func (f *formField) prepare(id string, required, secret bool) {
	p := &f.property
	f.view = pages.Field{ID: id, Label: p.Title, Hint: p.hint(), Required: required, Kind: p.kind()}
	if f.view.Label == "" {
		f.view.Label = f.name
	}
	f.choose()
	if f.view.Choices == nil {
		if secret {
			f.view.Kind = pages.Password
		} else {
			f.view.Value = p.shownDefault()
		}
	}
}

// mostRadios is from how many choices on they are shown in a list that opens.
const mostRadios = 6

// choose lists the field's choices, if it has any.
func (f *formField) choose() {
	p := &f.property
	switch p.Type {
	case "boolean":
		f.add(true, "Yes")
		f.add(false, "No")
	case "array":
		f.addAll(p.Items.Enum, p.Items.AnyOf)
	default:
		f.addAll(p.Enum, p.OneOf)
	}
	if len(f.values) == 0 || f.view.Kind == pages.Checkboxes {
		return
	}
	if len(f.values) > mostRadios {
		f.view.Kind = pages.Select
	}
	none := pages.Choice{Label: "No answer"}
	none.Selected = !slices.ContainsFunc(f.view.Choices, func(c pages.Choice) bool { return c.Selected })
	switch {
	case f.view.Kind == pages.Select && f.view.Required:
		none.Label = "Choose one"
		fallthrough
	case f.view.Kind == pages.Select:
		f.view.Choices = slices.Insert(f.view.Choices, 0, none)
	case !f.view.Required:
		f.view.Choices = append(f.view.Choices, none)
	}
}

func (f *formField) addAll(values []string, titled []titledValue) {
	for _, v := range values {
		f.add(v, v)
	}
	for _, v := range titled {
		f.add(v.Const, v.Title)
	}
}

func (f *formField) add(value any, label string) {
	byDefault := f.property.Default == value
	if several, ok := f.property.Default.([]any); ok {
		byDefault = slices.Contains(several, value)
	}
	f.view.Choices = append(f.view.Choices, pages.Choice{Value: strconv.Itoa(len(f.values)), Label: label, Selected: byDefault})
	f.values = append(f.values, value)
}

// read turns a posted form into the content of an answer, and keeps what is not secret to be shown
// again. Fields that were left empty are not in it.
func (f *form) read(posted url.Values) map[string]any {
	content := map[string]any{}
	if f.agreed != "" {
		content[f.agreed] = true
	}
	for _, field := range f.fields {
		given := posted[field.view.ID]
		if !f.secret {
			field.keep(given)
		}
		if value, ok := field.value(given); ok {
			content[field.name] = value
		}
	}
	return content
}

// keep shows what was posted again.
func (f *formField) keep(given []string) {
	if len(given) > 0 {
		f.view.Value = given[0]
	}
	for i := range f.view.Choices {
		c := &f.view.Choices[i]
		c.Selected = slices.Contains(given, c.Value)
	}
}

// value is the posted value as the API would get it. What is not of the property's type stays a
// string, for the core to refuse.
func (f *formField) value(given []string) (any, bool) {
	if f.view.Kind == pages.Checkboxes {
		items := []any{}
		for _, number := range given {
			items = append(items, f.chosen(number))
		}
		return items, len(items) > 0 || f.view.Required
	}
	if len(given) == 0 || given[0] == "" {
		return nil, false
	}
	text := given[0]
	switch {
	case f.values != nil:
		return f.chosen(text), true
	case f.property.Type == "integer" || f.property.Type == "number":
		return numberOf(text), true
	case f.property.Format == "date-time":
		return dateTimeOf(text), true
	default:
		return strings.ReplaceAll(text, "\r\n", "\n"), true // browsers send line breaks so
	}
}

// chosen is what a choice stands for; nil, which the core refuses, for what is not of our form.
func (f *formField) chosen(number string) any {
	i, err := strconv.Atoi(number)
	if err != nil || i < 0 || i >= len(f.values) {
		return nil
	}
	return f.values[i]
}

// numberOf reads a number as JSON writes it.
func numberOf(text string) any {
	text = strings.TrimSpace(text)
	if n := json.Number(text); json.Valid([]byte(text)) && strings.ContainsAny(text[:1], "-0123456789") && ordinary(n) {
		return n
	}
	return text
}

// localTime is the value of <input type=datetime-local>, in which seconds may be left out.
const localTime = "2006-01-02T15:04:05"

// dateTimeOf adds what the browser's control leaves out: that the time is in UTC, as its hint says.
func dateTimeOf(text string) any {
	for _, layout := range []string{localTime, "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.Format(time.RFC3339)
		}
	}
	return text
}

func (f *form) shown() []pages.Field {
	fields := make([]pages.Field, len(f.fields))
	for i, field := range f.fields {
		fields[i] = field.view
	}
	return fields
}
