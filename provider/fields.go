package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// DecodeFields decodes each member of a JSON object into its own target, a pointer, so that all that is
// wrong with a driver's configuration or settings is reported at once, unknown members included. A
// member that is absent, null or wrong leaves its target as it was. The errors name the member and
// the rule, never the value.
//
// Targets point to string, int, *int, bool, []string, []json.RawMessage, map[string]any, or a type
// with a method Takes() string that says in words what it takes.
func DecodeFields(object json.RawMessage, targets map[string]any) error {
	if len(object) == 0 {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return errors.New("must be a JSON object")
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(members)) {
		target, known := targets[name]
		if !known {
			errs = append(errs, fmt.Errorf("%s: unknown field", name))
			continue
		}
		if err := decode(members[name], target); err != nil {
			errs = append(errs, fmt.Errorf("%s: must be %s", name, takes(target)))
		}
	}
	return errors.Join(errs...)
}

func decode(member json.RawMessage, target any) error {
	if string(member) == "null" {
		return nil
	}
	value := reflect.New(reflect.TypeOf(target).Elem())
	if err := json.Unmarshal(member, value.Interface()); err != nil {
		return err
	}
	reflect.ValueOf(target).Elem().Set(value.Elem())
	return nil
}

// takes says in words what a target takes.
func takes(target any) string {
	switch t := target.(type) {
	case interface{ Takes() string }:
		return t.Takes()
	case *string:
		return "a string"
	case *int, **int:
		return "an integer"
	case *[]string:
		return "a list of strings"
	case *bool:
		return "true or false"
	case *[]json.RawMessage:
		return "a list"
	case *map[string]any:
		return "an object"
	default:
		panic(fmt.Sprintf("no words for %T", target))
	}
}
