package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/provisiond/provisiond/internal/pgtest"
)

func TestAllConfigurationErrorsAtOnce(t *testing.T) {
	t.Parallel()
	vars := map[string]string{
		"PROVISIOND_DATABASE_URL": "postgres://u:hunter2@host:port/db",
		"PROVISIOND_LEASE":        "soon",
		"PROVISIOND_MIGRATE":      "perhaps",
		"PROVISIOND_SWEEP":        "1h",
	}
	got := runCommand(t, vars, "serve", "--role=leader", "--workers=0", "--public-url=example.com", "--catalog=missing.yaml")
	got.expect(t, exitConfig,
		"provisiond: --role (PROVISIOND_ROLE) must be one of all, api, worker",
		"provisiond: --workers (PROVISIOND_WORKERS) must be a whole number from 1",
		"provisiond: --lease (PROVISIOND_LEASE) must be a duration, such as 90s or 1h30m, from 1s",
		"provisiond: --migrate (PROVISIOND_MIGRATE) must be true or false",
		"provisiond: --database-url (PROVISIOND_DATABASE_URL) must be a PostgreSQL URL or keyword string",
		"provisiond: --sweep (PROVISIOND_SWEEP) must not be longer than --lease",
		"provisiond: --public-url (PROVISIOND_PUBLIC_URL) must be an http or https URL without a path, such as https://provisiond.example.com",
		"provisiond: --catalog (PROVISIOND_CATALOG) must be a file that can be read: open missing.yaml: no such file or directory",
		"provisiond: --keyset-file (PROVISIOND_KEYSET_FILE) is required",
	)
}

// Behind a proxy that adds a path the pages' links and cookies would lead elsewhere.
func TestPublicURLHasNoPath(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"https://example.com/provisiond", "https://example.com?x=1", "https://u:p@example.com"} {
		got := runCommand(t, nil, "serve", "--public-url="+url)
		if !strings.Contains(got.stderr, "--public-url (PROVISIOND_PUBLIC_URL) must be an http or https URL without a path") {
			t.Errorf("%s: %s", url, got.stderr)
		}
	}
}

// A command with several groups of options could easily forget to check one.
func TestRequiredOptions(t *testing.T) {
	t.Parallel()
	const url = "provisiond: --database-url (PROVISIOND_DATABASE_URL) is required"
	const tenant = "provisiond: --tenant (PROVISIOND_TENANT) is required"
	const keyset = "provisiond: --keyset-file (PROVISIOND_KEYSET_FILE) is required"
	const catalog = "provisiond: --catalog (PROVISIOND_CATALOG) is required"
	for command, want := range map[string][]string{
		"serve":               {url, catalog, keyset},
		"migrate up":          {url},
		"migrate status":      {url},
		"tenants create shop": {url},
		"tenants list":        {url},
		"keys create":         {url, tenant},
		"keys list":           {url, tenant},
		"keys revoke key_1":   {url},
		"jobs list":           {url},
		"jobs show job_1":     {url},
		"jobs retry job_1":    {url},
		"jobs fail job_1":     {url},
		"jobs forget job_1":   {url},
		"instances forget x":  {url},
		"orphans list":        {url},
		"orphans retry x":     {url},
		"orphans forget x":    {url},
		"workers":             {url},
		"reconcile":           {url, catalog},
		"keyset create":       {keyset},
		"keyset rotate":       {keyset},
		"keyset promote":      {keyset},
		"mcp": {
			"provisiond: --url (PROVISIOND_URL) is required",
			"provisiond: --key-file (PROVISIOND_KEY_FILE) is required",
		},
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			runCommand(t, nil, strings.Fields(command)...).expect(t, exitConfig, want...)
		})
	}
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	const hint = `Run "provisiond --help" for the commands and their flags.`
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no command":   {nil, `provisiond: expected one of "dev", "serve", "migrate", "tenants", "keys", ...`},
		"unknown flag": {[]string{"version", "--leaze"}, "provisiond: unknown flag --leaze"},
		"a URL with a password": {
			[]string{"version", "postgres://u:hunter2@host/db"}, "provisiond: unexpected argument (a URL)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runCommand(t, nil, c.args...).expect(t, exitConfig, c.want, hint)
		})
	}
}

func TestHelpNamesVariables(t *testing.T) {
	t.Parallel()
	help := runCommand(t, nil, "serve", "--help").must(t).stdout
	for _, want := range []string{"--shutdown-grace=30s", "$PROVISIOND_SHUTDOWN_GRACE", "$PROVISIOND_DATABASE_URL_FILE"} {
		if !strings.Contains(help, want) {
			t.Errorf("the help lacks %s", want)
		}
	}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	const flag, env, file = "host=flag", "host=env", "host=file"
	path := writeFile(t, "url", file+"\n")
	for name, c := range map[string]struct {
		vars map[string]string
		args []string
		want string
	}{
		"flag over variable": {
			map[string]string{"PROVISIOND_DATABASE_URL": env}, []string{"--database-url", flag}, flag,
		},
		"flag over file": {
			map[string]string{"PROVISIOND_DATABASE_URL_FILE": path}, []string{"--database-url", flag}, flag,
		},
		"variable over file": {
			map[string]string{"PROVISIOND_DATABASE_URL": env, "PROVISIOND_DATABASE_URL_FILE": path}, nil, env,
		},
		"file without its line end": {map[string]string{"PROVISIOND_DATABASE_URL_FILE": path}, nil, file},
		"file under an empty variable": {
			map[string]string{"PROVISIOND_DATABASE_URL": "", "PROVISIOND_DATABASE_URL_FILE": path}, nil, file,
		},
		"nothing": {nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var parsed cli
			args := append([]string{"tenants", "list"}, c.args...)
			found := &problems{}
			if _, err := parse(&parsed, args, lookupIn(c.vars), found, new(buffer), new(buffer)); err != nil {
				t.Fatal(err)
			}
			if got := parsed.Tenants.List.DatabaseURL; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestDefaultsDifferByCommand(t *testing.T) {
	t.Parallel()
	var parsed cli
	if _, err := parse(&parsed, []string{"version"}, lookupIn(nil), &problems{}, new(buffer), new(buffer)); err != nil {
		t.Fatal(err)
	}
	if d := parsed.Dev.DrainDelay; d != 0 {
		t.Errorf("dev drains for %s, want 0", d)
	}
	if d := parsed.Serve.DrainDelay; d != 5*time.Second {
		t.Errorf("serve drains for %s, want 5s", d)
	}
}

func TestBadVariableUnderAGoodFlag(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"PROVISIOND_LOG_LEVEL": "loud"}
	runCommand(t, vars, "version", "--log-level=debug").must(t)
}

func TestUnreadableSecretFile(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"PROVISIOND_DATABASE_URL_FILE": "missing"}
	runCommand(t, vars, "tenants", "list").expect(t, exitConfig,
		"provisiond: PROVISIOND_DATABASE_URL_FILE must name a file that can be read: open missing: no such file or directory",
		"provisiond: --database-url (PROVISIOND_DATABASE_URL) is required",
	)
}

func TestFailuresHideThePassword(t *testing.T) {
	t.Parallel()
	// A server that is there, and refuses the login.
	url := strings.Replace(pgtest.AdminURL(t), "//postgres:", "//postgres:hunter2-", 1)
	got := runCommand(t, map[string]string{"PROVISIOND_DATABASE_URL": url}, "tenants", "list")
	if got.code != exitFailed || got.stderr == "" {
		t.Errorf("exit code %d with %q, want %d with a reason", got.code, got.stderr, exitFailed)
	}
	if strings.Contains(got.stderr, "hunter2") {
		t.Errorf("the error shows the password: %s", got.stderr)
	}
}

func TestLogRedactsByName(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			log := logOptions{LogFormat: format, LogLevel: "info"}.logger(&out)
			log.WithGroup("request").Info("x", "Authorization", "canary", "database-url", "canary", "key", "key_1")
			if got := out.String(); strings.Contains(got, "canary") || !strings.Contains(got, "key_1") {
				t.Errorf("logged %s", got)
			}
		})
	}
}
