package mcpfacade

import "github.com/modelcontextprotocol/go-sdk/mcp"

// tasksExtension makes a job of a tool call a task of the client's.
const tasksExtension = "io.modelcontextprotocol/tasks"

// caller is what the client of one request can do beyond plain tool calls. Clients say so in each
// request from protocol version 2026-07-28 on. Earlier ones say so once in a session, which a stateless
// server does not keep, and are served the plain way.
type caller struct {
	form, url, tasks bool
}

// request is a request of any method.
type request interface {
	ProtocolVersion() string
	ClientCapabilities() *mcp.ClientCapabilities
}

func callerOf(req request) caller {
	can := req.ClientCapabilities()
	if can == nil || req.ProtocolVersion() < perRequest {
		return caller{}
	}
	var c caller
	_, c.tasks = can.Extensions[tasksExtension]
	if e := can.Elicitation; e != nil {
		c.url = e.URL != nil
		c.form = e.Form != nil || e.URL == nil // An empty elicitation is one by form.
	}
	return c
}
