package main

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// problems collects all that is wrong with the configuration, so that it is reported at once and not
// one by one. They name the option and the rule, never the value.
type problems struct{ list []string }

// add notes the rule that the value of a flag breaks.
func (p *problems) add(flag, rule string) {
	p.list = append(p.list, fmt.Sprintf("--%s (%s) %s", flag, variable(flag), rule))
}

func (p *problems) any() bool { return len(p.list) > 0 }

// err is nil when there are none.
func (p *problems) err() error {
	if !p.any() {
		return nil
	}
	return errors.New(strings.Join(p.list, "\n"))
}

func (p *problems) print(w io.Writer) {
	for _, problem := range p.list {
		printLine(w, "provisiond: "+problem)
	}
}

// mappers decode the kinds of value that can be wrong. kong stops at the first error of a mapper, so
// these note it and go on. They know the tags
//   - choices:"a,b": the values that there are;
//   - min:"1": the smallest number or duration.
func (p *problems) mappers() kong.Option {
	return kong.OptionFunc(func(k *kong.Kong) error {
		for _, option := range []kong.Option{
			kong.KindMapper(reflect.String, p.mapper(setString)),
			kong.KindMapper(reflect.Int, p.mapper(setInt)),
			kong.TypeMapper(reflect.TypeFor[time.Duration](), p.mapper(setDuration)),
			kong.KindMapper(reflect.Bool, boolMapper{p.mapper(setBool)}),
		} {
			if err := option.Apply(k); err != nil {
				return err
			}
		}
		return nil
	})
}

// A setter sets the target to the text's value, or returns the rule that the text breaks.
type setter func(target reflect.Value, text string, tag *kong.Tag) (rule string)

func (p *problems) mapper(set setter) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto("value", &text); err != nil {
			return err
		}
		if rule := set(target, text, ctx.Value.Tag); rule != "" {
			p.add(ctx.Value.Name, rule)
		}
		return nil
	}
}

func setString(target reflect.Value, text string, tag *kong.Tag) string {
	target.SetString(text)
	if choices := tag.Get("choices"); choices != "" && !slices.Contains(strings.Split(choices, ","), text) {
		return "must be one of " + strings.ReplaceAll(choices, ",", ", ")
	}
	return ""
}

func setInt(target reflect.Value, text string, tag *kong.Tag) string {
	smallest, _ := strconv.Atoi(tag.Get("min")) // 0 without the tag
	value, err := strconv.Atoi(text)
	if err != nil || value < smallest {
		return fmt.Sprintf("must be a whole number from %d", smallest)
	}
	target.SetInt(int64(value))
	return ""
}

func setBool(target reflect.Value, text string, _ *kong.Tag) string {
	value, err := strconv.ParseBool(text)
	if err != nil {
		return "must be true or false"
	}
	target.SetBool(value)
	return ""
}

// boolMapper lets a flag stand without a value, which means true.
type boolMapper struct{ withValue kong.MapperFunc }

func (m boolMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		return m.withValue(ctx, target)
	}
	target.SetBool(true)
	return nil
}

func (boolMapper) IsBool() bool { return true }

func setDuration(target reflect.Value, text string, tag *kong.Tag) string {
	smallest, _ := time.ParseDuration(tag.Get("min")) // 0 without the tag
	value, err := time.ParseDuration(text)
	if err != nil || value < smallest {
		return fmt.Sprintf("must be a duration, such as 90s or 1h30m, from %s", smallest)
	}
	target.SetInt(int64(value))
	return ""
}
