package postgres

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/provisiond/provisiond/provider"
)

// maxConnections is PostgreSQL's own bound on connections (MAX_BACKENDS).
const maxConnections = 262143

// locale is what POSIX and ICU locale names consist of.
var locale = regexp.MustCompile(`^[A-Za-z0-9_.@-]{1,63}$`)

// A plan is what a database is made with. As a plan's settings, it is the most that users may ask for.
type plan struct {
	connectionLimit *int // nil is no limit
	extensions      []string
	locale          string // empty is that of template0
}

// limit is the connection limit as PostgreSQL writes it.
func (p *plan) limit() string {
	if p.connectionLimit == nil {
		return "-1"
	}
	return strconv.Itoa(*p.connectionLimit)
}

// read sets what the object holds. It leaves the check of the extensions to the caller.
func (p *plan) read(object json.RawMessage, maxLimit int) error {
	errs := []error{provider.DecodeFields(object, map[string]any{
		"connection_limit": &p.connectionLimit, "extensions": &p.extensions, "locale": &p.locale,
	})}
	if l := p.connectionLimit; l != nil && (*l < 1 || *l > maxLimit) {
		errs = append(errs, fmt.Errorf("connection_limit: must be from 1 to %d", maxLimit))
	}
	if p.locale != "" && !locale.MatchString(p.locale) {
		errs = append(errs, errors.New("locale: must be the name of a locale"))
	}
	return errors.Join(errs...)
}

// CheckPlan implements provider.PlanChecker.
func (d *driver) CheckPlan(settings json.RawMessage) error {
	_, err := readSettings(settings)
	return err
}

func readSettings(settings json.RawMessage) (plan, error) {
	var p plan
	err := p.read(settings, maxConnections)
	if slices.Contains(p.extensions, "") {
		err = errors.Join(err, errors.New("extensions: must not hold an empty name"))
	}
	return p, err
}

// planOf is the plan's settings with the user's parameters on top.
func planOf(settings json.RawMessage, parameters map[string]any) (plan, error) {
	most, err := readSettings(settings)
	if err != nil {
		return plan{}, rejected("The plan's settings are wrong; an operator must correct the catalog.", err)
	}
	p, maxLimit := plan{locale: most.locale}, maxConnections
	if most.connectionLimit != nil {
		maxLimit = *most.connectionLimit
	}
	err = p.read(pick(parameters, "connection_limit", "extensions", "locale"), maxLimit)
	if !subset(p.extensions, most.extensions) {
		err = errors.Join(err, errors.New("extensions: must hold only extensions that the plan allows"))
	}
	if err != nil {
		return plan{}, wrongParameters(err)
	}
	if p.connectionLimit == nil {
		p.connectionLimit = most.connectionLimit
	}
	return p, nil
}

// wrongParameters is the error for faults that name the parameter and its rule.
func wrongParameters(faults error) error {
	return rejected("Wrong parameters: "+oneLine(faults), nil)
}

func subset(part, whole []string) bool {
	return !slices.ContainsFunc(part, func(name string) bool { return !slices.Contains(whole, name) })
}

// pick returns the named parameters, of those that are there, as a JSON object.
func pick(parameters map[string]any, names ...string) json.RawMessage {
	picked := map[string]any{}
	for _, name := range names {
		if value, ok := parameters[name]; ok {
			picked[name] = value
		}
	}
	object, err := json.Marshal(picked)
	if err != nil {
		// Parameters come from JSON.
		panic(fmt.Sprintf("parameters that are not JSON: %v", err))
	}
	return object
}
