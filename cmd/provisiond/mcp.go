package main

import (
	"context"
	"os"
	"strings"

	"github.com/provisiond/provisiond/mcpfacade"
)

// mcpCmd is for hosts that start their MCP servers as programs. Standard input and output are the
// protocol's; the log goes to standard error, as always.
type mcpCmd struct {
	URL      string `name:"url" placeholder:"URL" help:"Where provisiond's API is, with or without the /mcp at its end."`
	KeyFile  string `placeholder:"FILE" help:"File that holds the API key."`
	ReadOnly bool   `help:"Offer only the tools that change nothing."`

	key string
}

func (c *mcpCmd) check(_ lookup, found *problems) {
	if c.URL == "" {
		found.add("url", "is required")
	} else if !isHTTP(c.URL) {
		found.add("url", "must be an http or https URL")
	}
	if c.KeyFile == "" {
		found.add("key-file", "is required")
		return
	}
	data, err := os.ReadFile(c.KeyFile)
	if err != nil {
		found.add("key-file", "must be a file that can be read: "+err.Error())
		return
	}
	if c.key = strings.TrimSpace(string(data)); c.key == "" {
		found.add("key-file", "must hold an API key")
	}
}

func (c *mcpCmd) run(ctx context.Context, p *process) error {
	return mcpfacade.ServeStdio(ctx, mcpfacade.Config{
		BaseURL: strings.TrimSuffix(strings.TrimRight(c.URL, "/"), "/mcp"), ReadOnly: c.ReadOnly, Version: version(), Logger: p.log,
	}, c.key, p.stdin, p.stdout)
}
