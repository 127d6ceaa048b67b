//go:build interop

package mcpfacade

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addResources adds resources that never change.
func addResources(server *mcp.Server) {
	text := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return contents(&mcp.ResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: "text of " + req.Params.URI}), nil
	}
	binary := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return contents(&mcp.ResourceContents{URI: req.Params.URI, MIMEType: picture.MIMEType, Blob: picture.Data}), nil
	}
	server.AddResource(&mcp.Resource{Name: "static-text", URI: "test://static-text", MIMEType: "text/plain"}, text)
	server.AddResource(&mcp.Resource{Name: "watched-resource", URI: "test://watched-resource", MIMEType: "text/plain"}, text)
	server.AddResource(&mcp.Resource{Name: "static-binary", URI: "test://static-binary", MIMEType: picture.MIMEType}, binary)
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "text/plain"}, text)
}

func contents(c *mcp.ResourceContents) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}
}

// A subscription never has anything to tell: nothing changes.
func subscribe(context.Context, *mcp.SubscribeRequest) error     { return nil }
func unsubscribe(context.Context, *mcp.UnsubscribeRequest) error { return nil }
