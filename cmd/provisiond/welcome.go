package main

import (
	_ "embed"
	"fmt"
	"io"
	"text/template"
)

// session is what dev prints to be pasted into a shell. It needs curl and sed only.
//
//go:embed session.sh
var session string

// welcome frames the session with what is to be known about it.
var welcome = template.Must(template.Must(template.New("session").Parse(session)).New("welcome").Parse(`
provisiond is at {{.URL}} (reference: {{.URL}}/docs, MCP: {{.URL}}/mcp)

  agent's key:  {{.Agent}}
  person's key: {{.Person}}

Paste this into another terminal to make a database:

{{template "session" .}}
Ctrl-C ends provisiond and keeps the data.

`))

func printWelcome(w io.Writer, url string, keys devKeys) error {
	err := welcome.Execute(w, struct{ URL, Agent, Person string }{url, keys.agent, keys.person})
	if err != nil {
		return fmt.Errorf("print keys and session: %w", err)
	}
	return nil
}
