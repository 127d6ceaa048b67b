// Package mcpfacade offers provisiond's REST API as tools of the Model Context Protocol. It holds no
// state: every request can go to another replica. A tool call becomes one or a few calls of the API
// with the caller's own credentials; what the caller may do is decided there alone.
//
// Of this module it imports the client and nothing else.
package mcpfacade

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/provisiond/provisiond/client"
)

const (
	// maxBody is the API's own bound of a body, in bytes.
	maxBody = 1 << 20
	// longestWait is the most that get_job waits: hosts give up a call after 60 s, and many proxies
	// cut a quiet connection after 30 s.
	longestWait = 20 * time.Second
	// callTime is what a tool call may take beyond its wait. Together they stay under 25 s.
	callTime = 4 * time.Second
	// listTTL is how long a client may keep the list of tools, which only a new release changes.
	listTTL = 5 * time.Minute
	// maxTries is lower than the client's default, since an agent waits for the answer.
	maxTries = 3
)

// versions are the protocol versions that are served, newest first.
var versions = []string{perRequest, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// perRequest is the protocol version from which each request says what its caller can do, and a
// JSON-RPC error has an HTTP status of its own.
const perRequest = "2026-07-28"

// Config says where the API is and who may come. Exactly one of API and BaseURL is set.
type Config struct {
	// API is called in this process, without a socket.
	API http.Handler
	// BaseURL is the URL of a remote API.
	BaseURL string
	// PublicURL is where clients reach this server. Its host and origin are allowed.
	PublicURL string
	// AllowedHosts are more values of the Host header that are served, without a port; "*" is all.
	// The names of the loopback interface always are. Others are refused, against DNS rebinding.
	AllowedHosts []string
	// AllowedOrigins are web origins ("https://app.example.com") that may call, besides PublicURL's
	// and the one of the request's own host.
	AllowedOrigins []string
	// ReadOnly serves only the tools that read, to all. A caller of the HTTP handler can ask for the
	// same with the query read_only=true.
	ReadOnly bool
	// MaxWait bounds get_job's wait_seconds. 0 and more than 20 s mean 20 s.
	MaxWait time.Duration
	// Version is shown to clients.
	Version string
	// Logger takes what goes wrong; nil is slog.Default().
	Logger *slog.Logger
}

// New returns the handler of /mcp: Streamable HTTP in all protocol versions, stateless, with JSON
// answers. It is safe for concurrent use.
func New(cfg Config) (http.Handler, error) {
	f, err := newFacade(cfg, "")
	if err != nil {
		return nil, err
	}
	all, err := f.newOffer(serverOptions(), cfg.Version, cfg.ReadOnly)
	if err != nil {
		return nil, err
	}
	reading, err := f.newOffer(serverOptions(), cfg.Version, true)
	if err != nil {
		return nil, err
	}
	choose := func(r *http.Request) *offer {
		if cfg.ReadOnly || r.URL.Query().Get(readOnlyParam) == "true" {
			return reading
		}
		return all
	}
	return guard(cfg, envelope(streamable(choose, streamableOptions()), choose))
}

// readOnlyParam is the query parameter that asks for the tools that read, with true or false.
const readOnlyParam = "read_only"

// misspelt tells whether the query asks for reading tools in a way that is not understood: whoever wants
// fewer tools must not get all.
func misspelt(query url.Values) bool {
	for name, values := range query {
		plain := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
		if plain == "readonly" && (name != readOnlyParam || len(values) != 1 || values[0] != "true" && values[0] != "false") {
			return true
		}
	}
	return false
}

// quiet takes what the SDK logs: three lines a request, and a client's mistakes as errors. The API writes one
// line for each call, and what is our fault is logged here.
var quiet = slog.New(slog.DiscardHandler)

// streamable puts the offers' servers behind HTTP.
func streamable(choose func(*http.Request) *offer, options *mcp.StreamableHTTPOptions) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server { return choose(r).server }, options)
}

func streamableOptions() *mcp.StreamableHTTPOptions {
	return &mcp.StreamableHTTPOptions{
		Stateless:    true,
		JSONResponse: true,
		Logger:       quiet,
		// The SDK knows no public hosts, so behind a proxy on loopback it would refuse every
		// call. guard does the check.
		DisableLocalhostProtection:   true,
		MaxRequestBodyBytes:          maxBody,
		PropagateRequestCancellation: true,
	}
}

// facade is what the tools share.
type facade struct {
	api *client.SDK
	// key is the caller's over stdio; over HTTP each request brings its own.
	key     string
	log     *slog.Logger
	maxWait time.Duration
}

func newFacade(cfg Config, key string) (*facade, error) {
	f := &facade{key: key, log: cfg.Logger, maxWait: cfg.MaxWait}
	if f.log == nil {
		f.log = slog.Default()
	}
	if f.maxWait <= 0 || f.maxWait > longestWait {
		f.maxWait = longestWait
	}
	if (cfg.API == nil) == (cfg.BaseURL == "") {
		return nil, errors.New("mcpfacade: exactly one of API and BaseURL must be set")
	}
	baseURL := cfg.BaseURL
	opts := []client.Option{client.WithUserAgent("provisiond-mcp/" + cfg.Version), client.WithMaxTries(maxTries)}
	if cfg.API != nil {
		baseURL = inProcessURL
		opts = append(opts, client.WithTransport(&inProcess{handler: cfg.API, log: f.log}))
	}
	var err error
	if f.api, err = client.New(baseURL, key, opts...); err != nil {
		return nil, fmt.Errorf("mcpfacade: %w", err)
	}
	return f, nil
}

// readingInstructions are those of the tools that read.
const readingInstructions = `provisiond provisions third-party services, such as a database. ` +
	`These tools only read: they tell which services there are, what was provisioned, and how jobs stand. ` +
	`Every result has a next_step that says what to do; what would change something, the user does elsewhere.`

const instructions = `provisiond provisions third-party services, such as a database. ` +
	`Work is done by jobs: start_provision returns a job at once, and get_job with wait_seconds tells how it goes on. ` +
	`When a job awaits input, ask the user and call answer_question. ` +
	`Every result has a next_step that says what to do.`

func serverOptions() *mcp.ServerOptions {
	return &mcp.ServerOptions{
		Instructions: instructions,
		Logger:       quiet,
		// Named so that neither logging nor listChanged is advertised.
		Capabilities:              &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		SupportedProtocolVersions: versions,
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.CacheScope = "private" // Behind a key.
			c.TTLMs = int(listTTL.Milliseconds())
		},
	}
}
