// Package api serves jobs over HTTP, as openapi.yaml says: it checks requests against the contract,
// calls the core, and writes answers and problems. It keeps nothing between requests.
//
//nolint:godoclint // the other package comment is in the generated file
package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/provisiond/provisiond/jobs"
)

// Config is what the API needs.
type Config struct {
	Service *jobs.Service
	// PublicURL is where clients reach the API, such as https://provisiond.example.com. It has no path:
	// links, pages and their cookies begin at the root.
	PublicURL string
	// MaxWait bounds how long a poll is held; 25 s. The HTTP server's WriteTimeout must be longer,
	// and so must the idle timeout of every proxy before it.
	MaxWait time.Duration
	// OIDC, where not nil, lets callers in with access tokens, too, and people at its issuer.
	OIDC *OIDC
	// Logger gets one line for each request; slog.Default() if nil.
	Logger *slog.Logger
	// MCP, where not nil, is given the finished handler, to call it in-process, and returns what is
	// to be served at /mcp.
	MCP func(api http.Handler) http.Handler
}

// server implements StrictServerInterface.
type server struct {
	service   *jobs.Service
	publicURL string
	maxWait   time.Duration
	logger    *slog.Logger
	contract  *contract
	tokens    *accessTokens // nil where API keys are all
	gate      *gate         // nil where people sign in with keys alone
	services  map[string]Service
	visits    visits
}

var _ StrictServerInterface = (*server)(nil)

// New returns the handler of the whole HTTP surface. It makes no connection.
func New(c Config) (http.Handler, error) {
	s, err := newServer(c)
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	e := s.echo()
	RegisterHandlers(withHead{e}, NewStrictHandler(s, nil))
	if err := s.registerDocs(withHead{e}); err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	if c.OIDC != nil {
		s.registerMetadata(e, c.OIDC.Issuer)
	}
	if err := s.registerPages(withHead{e}); err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	if c.MCP != nil {
		e.Match([]string{http.MethodPost, http.MethodGet, http.MethodDelete}, mcpPath,
			echo.WrapHandler(c.MCP(e)), s.authenticateMCP)
	}
	return e, nil
}

// echo returns a router with all that happens before and after a handler.
func (s *server) echo() *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = s.writeProblem
	e.Use(s.begin, s.log, s.recoverPanic, s.limitBody, s.authenticate, s.validate)
	return e
}

func newServer(c Config) (*server, error) {
	if c.Service == nil {
		return nil, errors.New("a Service is needed")
	}
	public, err := url.Parse(c.PublicURL)
	if err != nil || (public.Scheme != "http" && public.Scheme != "https") || public.Host == "" ||
		strings.Trim(public.Path, "/") != "" {
		return nil, errors.New("the public URL must be like https://host, without a path")
	}
	s := &server{
		service:   c.Service,
		publicURL: strings.TrimRight(c.PublicURL, "/"),
		maxWait:   cmp.Or(c.MaxWait, 25*time.Second).Truncate(time.Second),
		logger:    cmp.Or(c.Logger, slog.Default()),
	}
	if c.OIDC != nil {
		if s.tokens, err = newAccessTokens(*c.OIDC, s.publicURL, c.Service); err != nil {
			return nil, err
		}
		s.gate = newGate(*c.OIDC, s.publicURL, s.tokens)
	}
	if s.visits, err = newVisits(public); err != nil {
		return nil, err
	}
	if s.contract, err = loadContract(context.Background()); err != nil {
		return nil, err
	}
	if s.services, err = servicesOf(c.Service.Catalog()); err != nil {
		return nil, err
	}
	return s, nil
}

// withHead answers HEAD wherever GET is answered; net/http leaves the body out.
type withHead struct{ *echo.Echo }

// GET registers a handler for GET and HEAD.
func (r withHead) GET(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	r.HEAD(path, h, m...)
	return r.Echo.GET(path, h, m...)
}
