package main

import (
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// lookup finds an environment variable, as os.LookupEnv does.
type lookup func(name string) (string, bool)

// variable is the environment variable of a flag.
func variable(flag string) string {
	return "PROVISIOND_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// variables gives each flag that is not on the command line the value of its variable. An empty
// variable counts as none, as it is easily left over in a deployment's template. For an option
// tagged secret there is the variable with _FILE besides, which names a file that holds the value.
//
// nil is kong's word for "not set here".
//
// kong could read variables itself, but only the process's own, and its error would show the value.
func variables(env lookup, found *problems) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		if flag.Name == "help" {
			return nil, nil
		}
		if value, _ := env(variable(flag.Name)); value != "" {
			return value, nil
		}
		if !flag.Tag.Has("secret") {
			return nil, nil
		}
		value, ok, err := readSecretFile(env, variable(flag.Name))
		if err != nil {
			found.list = append(found.list, err.Error())
		}
		if !ok {
			return nil, nil
		}
		return value, nil
	})
}

// readSecretFile reads the file that the variable name_FILE names, without the line end that editors
// leave. It reports false when there is no such variable or its file cannot be read.
func readSecretFile(env lookup, name string) (value string, ok bool, err error) {
	path, _ := env(name + "_FILE")
	if path == "" {
		return "", false, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", false, &secretFileError{name + "_FILE", err}
	}
	return strings.TrimRight(string(data), "\r\n"), true, nil
}

// secretFileError says that a secret's file cannot be read.
type secretFileError struct {
	variable string
	cause    error
}

func (e *secretFileError) Error() string {
	return e.variable + " must name a file that can be read: " + e.cause.Error()
}

func (e *secretFileError) Unwrap() error { return e.cause }

// helpWithVariable adds a flag's variable to its help.
func helpWithVariable(value *kong.Value) string {
	if value.Flag == nil || value.Name == "help" {
		return value.Help
	}
	names := "$" + variable(value.Name)
	if value.Tag.Has("secret") {
		names += ", $" + variable(value.Name) + "_FILE"
	}
	return value.Help + " (" + names + ")"
}
