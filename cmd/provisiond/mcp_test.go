package main

import (
	"io"
	"strings"
	"testing"

	"github.com/provisiond/provisiond/internal/pgtest"
)

// What a host does: it starts the program, speaks to it over its standard input and output, and closes
// them.
func TestMCPOverStandardInput(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	server := start(t, forServe(t, database), "serve", "--role", roleAPI)
	api, _ := server.awaitReady(t)
	vars := map[string]string{"PROVISIOND_DATABASE_URL": database}
	runCommand(t, vars, "tenants", "create", "shop").must(t)
	key := runCommand(t, vars, "keys", "create", "--tenant", "shop").must(t).stdout

	stdin, input := io.Pipe()
	host := startWith(t, stdin, map[string]string{"PROVISIOND_URL": api}, "mcp", "--key-file", writeFile(t, "key", key))
	say := func(message string) {
		if _, err := io.WriteString(input, message+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	host.await(t, &host.stdout, `"id":1`)
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_services","arguments":{}}}`)
	if got := host.await(t, &host.stdout, `"id":2`); !strings.Contains(got, "PostgreSQL") {
		t.Errorf("the services are not listed: %s", got)
	}
	_ = input.Close()
	code := <-host.done
	host.done <- code
	if code != exitDone {
		t.Errorf("exit code %d: %s", code, host.stderr.String())
	}
	if all := host.stdout.String() + host.stderr.String() + server.stderr.String(); strings.Contains(all, strings.TrimSpace(key)) {
		t.Error("the key was printed")
	}
}

func TestMCPOptions(t *testing.T) {
	t.Parallel()
	runCommand(t, nil, "mcp", "--url", "example.com", "--key-file", writeFile(t, "key", " \n")).expect(t, exitConfig,
		"provisiond: --url (PROVISIOND_URL) must be an http or https URL",
		"provisiond: --key-file (PROVISIOND_KEY_FILE) must hold an API key",
	)
	runCommand(t, nil, "mcp", "--url", "https://example.com", "--key-file", "missing").expect(t, exitConfig,
		"provisiond: --key-file (PROVISIOND_KEY_FILE) must be a file that can be read: open missing: no such file or directory",
	)
}
