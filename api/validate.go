package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/provisiond/provisiond/jobs/catalog"
)

// validate holds a request against the contract and names all that is wrong with it: 400 for path,
// query, headers and the body's form, else 422 for the body's content.
func (s *server) validate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		o, r := callOf(c).operation, c.Request()
		if o == nil {
			return next(c)
		}
		fields := s.contract.checkParameters(o, c)
		if len(fields) > 0 {
			return invalid(http.StatusBadRequest, fields)
		}
		if o.body == nil {
			if err := noBody(r); err != nil {
				return err
			}
		} else {
			value, err := o.readBody(r)
			if err != nil {
				return err
			}
			if fields := s.contract.faults(o.body, value); len(fields) > 0 {
				return invalid(http.StatusUnprocessableEntity, fields)
			}
			r.Body = checkedBody{r.Body, value}
		}
		return next(c)
	}
}

// checkParameters checks path, query and headers.
func (c *contract) checkParameters(o *operation, e echo.Context) []catalog.FieldError {
	r := e.Request()
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return []catalog.FieldError{{Pointer: "query", Detail: "must be of the form name=value&name=value, percent-encoded"}}
	}
	fields := unknownQuery(o, query)
	for _, p := range o.parameters {
		var values []string
		switch p.in {
		case "path":
			values = []string{pathValue(e, p.name)}
		case "query":
			values = query[p.name]
		case "header":
			values = headerValues(r.Header, p.name)
		}
		fields = append(fields, c.checkParameter(p, values)...)
	}
	return fields
}

func unknownQuery(o *operation, query url.Values) []catalog.FieldError {
	known := map[string]bool{}
	for _, p := range o.parameters {
		known[p.name] = known[p.name] || p.in == "query"
	}
	var fields []catalog.FieldError
	for name := range query {
		if !known[name] {
			name = strings.ToValidUTF8(name, "�")
			fields = append(fields, catalog.FieldError{Pointer: "query" + catalog.Pointer(name), Detail: "is unknown"})
		}
	}
	return fields
}

// pathValue returns a path parameter as the client meant it. What cannot be unescaped stays as it
// is; no ID has a percent sign.
func pathValue(c echo.Context, name string) string {
	value := c.Param(name)
	if unescaped, err := url.PathUnescape(value); err == nil && c.Request().URL.RawPath != "" {
		return unescaped
	}
	return value
}

// headerValues joins repeated header lines into the one that they mean (RFC 9110, section 5.3).
func headerValues(h http.Header, name string) []string {
	values := h.Values(name)
	if len(values) > 1 {
		h.Set(name, strings.Join(values, ", "))
	}
	return h.Values(name)
}

func (c *contract) checkParameter(p parameter, values []string) []catalog.FieldError {
	at := p.in + "/" + p.name
	refuse := func(detail string) []catalog.FieldError {
		return []catalog.FieldError{{Pointer: at, Detail: detail}}
	}
	if len(values) == 0 {
		if p.required {
			return refuse("is required")
		}
		return nil
	}
	if len(values) > 1 && !p.array {
		return refuse("must be given once")
	}
	for _, v := range values {
		if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
			return refuse("must be valid UTF-8 without the NUL character")
		}
	}
	value, rule := p.value(values)
	if rule != "" {
		return refuse(rule)
	}
	fields := c.faults(p.schema, value)
	for i := range fields {
		fields[i].Pointer = at // of a repeated parameter too: its place in the query means little
	}
	return fields
}

// value turns the parameter's text into what its schema is about, or says the rule that it breaks.
func (p parameter) value(values []string) (value any, rule string) {
	switch {
	case p.array:
		items := make([]any, len(values))
		for i, v := range values {
			items[i] = v
		}
		return items, ""
	case p.integer:
		n, err := strconv.ParseInt(values[0], 10, 64)
		if err != nil {
			return nil, "must be a whole number"
		}
		return json.Number(strconv.FormatInt(n, 10)), ""
	case p.boolean:
		if values[0] != "true" && values[0] != "false" {
			return nil, "must be true or false"
		}
		return values[0] == "true", ""
	default:
		return values[0], ""
	}
}
