package postgres

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/provisiond/provisiond/provider"
)

func TestNewReportsAllThatIsWrong(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ config, want string }{
		"right":         {`{"admin_url": "postgres://a:b@db.example.com/x"}`, ""},
		"socket":        {`{"admin_url": "host=/run/postgresql", "public_host": "db.example.com"}`, ""},
		"empty":         {``, "admin_url: is required"},
		"no object":     {`[]`, "must be a JSON object\nadmin_url: is required"},
		"not a URL":     {`{"admin_url": "postgres://a:canary@h:port/x"}`, "admin_url: must be a PostgreSQL URL or keyword string"},
		"only a socket": {`{"admin_url": "host=/run/postgresql"}`, "public_host: is required when admin_url names a Unix socket"},
		"all at once": {
			`{"admin_url": 5, "public_host": [], "public_port": 70000, "sslmode": "maybe", "password": "canary"}`,
			"admin_url: must be a string\npassword: unknown field\npublic_host: must be a string\n" +
				"public_port: must be from 1 to 65535\n" +
				"sslmode: must be one of disable, allow, prefer, require, verify-ca, verify-full\n" +
				"admin_url: is required",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := New(json.RawMessage(test.config))
			checkError(t, err, test.want)
		})
	}
}

func TestCheckPlanReportsAllThatIsWrong(t *testing.T) {
	t.Parallel()
	d, err := New(json.RawMessage(`{"admin_url": "postgres://a:b@db.example.com/x"}`))
	if err != nil {
		t.Fatal(err)
	}
	checker := d.(provider.PlanChecker)
	for settings, want := range map[string]string{
		``:     "",
		`null`: "",
		`{"connection_limit": 5, "extensions": ["citext"], "locale": "de_DE.UTF-8"}`: "",
		`{"connection_limit": 0, "extensions": [""], "locale": "C' --", "size": 5}`: "size: unknown field\n" +
			"connection_limit: must be from 1 to 262143\n" +
			"locale: must be the name of a locale\n" +
			"extensions: must not hold an empty name",
		`{"connection_limit": "5", "extensions": "citext", "locale": 5}`: "connection_limit: must be an integer\n" +
			"extensions: must be a list of strings\n" +
			"locale: must be a string",
	} {
		t.Run(settings, func(t *testing.T) {
			t.Parallel()
			checkError(t, checker.CheckPlan(json.RawMessage(settings)), want)
		})
	}
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if strings.Contains(got, "canary") {
		t.Error("the error holds a submitted value")
	}
}
