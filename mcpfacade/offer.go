package mcpfacade

import (
	"context"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// offer is a server with the methods that its capabilities promise. The SDK serves more: it answers
// prompts/list, for one, with an empty list.
type offer struct {
	server  *mcp.Server
	methods []string
}

// has tells whether a method is served in a protocol version.
func (o *offer) has(method, version string) bool {
	return strings.HasPrefix(method, "notifications/") ||
		slices.Contains(o.methods, method) && (version >= perRequest || !slices.Contains(taskMethods, method))
}

// newOffer makes the server with all tools, or with those alone that read. Whoever only reads has no tasks;
// otherwise they are added to the capabilities in options.
func (f *facade) newOffer(options *mcp.ServerOptions, version string, readOnly bool) (*offer, error) {
	if version == "" {
		version = "dev"
	}
	bound, err := bindTools(readOnly)
	if err != nil {
		return nil, err
	}
	o := &offer{methods: []string{"initialize", "ping", "server/discover", "tools/list", "tools/call"}}
	if readOnly {
		options.Instructions = readingInstructions
	} else {
		options.Capabilities.AddExtension(tasksExtension, nil)
		o.methods = append(o.methods, taskMethods...)
	}
	o.server = mcp.NewServer(&mcp.Implementation{Name: "provisiond", Title: "provisiond", Version: version}, options)
	f.addTools(o.server, bound)
	if !readOnly {
		if err := f.addTasks(o.server, bound["get_job"].rules); err != nil {
			return nil, err
		}
	}
	// The last ones added are outermost.
	o.server.AddReceivingMiddleware(f.recoverPanics, o.refuseOthers)
	return o, nil
}

// refuseOthers refuses what envelope does not see: calls within a batch, and those over stdio.
func (o *offer) refuseOthers(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		version := ""
		if versioned, ok := req.(interface{ ProtocolVersion() string }); ok {
			version = versioned.ProtocolVersion()
		}
		if !o.has(method, version) {
			return nil, methodNotFound
		}
		return next(ctx, method, req)
	}
}
