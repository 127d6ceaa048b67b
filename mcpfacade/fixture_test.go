//go:build interop

package mcpfacade

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The fixture is the facade with what the protocol's conformance suite wants of a server beyond
// provisiond's own tools: tools, prompts and resources with the suite's names. It is this test binary, so
// that the suite meets the same handlers, middleware and checks as a client of the product does. e2e
// starts it, with these variables.
const (
	fixtureListen = "MCPFACADE_FIXTURE_LISTEN" // address to listen on
	fixtureAPI    = "MCPFACADE_FIXTURE_API"    // URL of the API
)

// TestMain runs the tests, or serves the fixture until it is killed.
func TestMain(m *testing.M) {
	address := os.Getenv(fixtureListen)
	if address == "" {
		os.Exit(m.Run())
	}
	_, _ = fmt.Fprintln(os.Stderr, "fixture:", serveFixture(address, os.Getenv(fixtureAPI)))
	os.Exit(1)
}

func serveFixture(address, apiURL string) error {
	handler, err := newFixture(Config{BaseURL: apiURL})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("fixture: ready")
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	return server.Serve(listener)
}

// newFixture is New with more to offer.
func newFixture(cfg Config) (http.Handler, error) {
	f, err := newFacade(cfg, "")
	if err != nil {
		return nil, err
	}
	options := serverOptions()
	options.Capabilities = &mcp.ServerCapabilities{
		Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{},
		Logging: &mcp.LoggingCapabilities{},
	}
	options.CompletionHandler = complete
	options.SubscribeHandler, options.UnsubscribeHandler = subscribe, unsubscribe
	o, err := f.newOffer(options, "", false)
	if err != nil {
		return nil, err
	}
	o.methods = append(o.methods,
		"prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "subscriptions/listen",
		"resources/list", "resources/read", "resources/templates/list", "resources/subscribe", "resources/unsubscribe")
	addPrompts(o.server)
	addResources(o.server)
	addContentTools(o.server)
	addSchemaTools(o.server)
	if err := errors.Join(f.addInputTools(o.server), f.addJobTools(o.server)); err != nil {
		return nil, err
	}
	choose := func(*http.Request) *offer { return o }
	streaming := streamableOptions()
	streaming.JSONResponse = false
	return guard(cfg, envelope(eitherWay(streamable(choose, streamableOptions()), streamable(choose, streaming)), choose))
}

// tellsAsItGoes finds calls of tools that tell what they do while they do it.
var tellsAsItGoes = regexp.MustCompile(`"test_tool_with_(progress|logging)"`)

// eitherWay answers in JSON, as the product does, but for what needs a stream.
func eitherWay(inJSON, asStream http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body) // It is in memory.
		if err != nil {
			http.Error(w, "unreadable", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if tellsAsItGoes.Match(body) {
			asStream.ServeHTTP(w, r)
			return
		}
		inJSON.ServeHTTP(w, r)
	})
}
