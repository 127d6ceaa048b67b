package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/provisiond/provisiond/jobs"
)

// mcpPath is where MCP is served.
const mcpPath = "/mcp"

// challenge is the WWW-Authenticate header of an answer of 401 or, for a scope that is missing, 403
// (RFC 6750, section 3). It says where to find out who issues tokens (RFC 9728, section 5.1).
func (s *server) challenge(c echo.Context, code jobs.Code) string {
	call := callOf(c)
	params := []string{`realm="provisiond"`}
	switch {
	case code == jobs.InsufficientScope:
		params = append(params, `error="insufficient_scope"`)
	case bearer(c.Request()) != "":
		params = append(params, `error="invalid_token"`)
	}
	if call.scope != "" {
		params = append(params, fmt.Sprintf("scope=%q", call.scope))
	}
	if s.tokens != nil {
		url := s.publicURL + metadataPath
		if c.Path() == mcpPath {
			url += mcpPath
		}
		params = append(params, fmt.Sprintf("resource_metadata=%q", url))
	}
	return "Bearer " + strings.Join(params, ", ")
}

// authenticateMCP checks credentials before MCP is spoken, as its clients expect: a 401 makes them sign
// in. Bad ones are taken off the request, so that what is mounted refuses it in the form of JSON-RPC, as
// it does one without any; foreign hosts and origins it refuses first. Scopes are checked call by call in
// the API. That the database or the issuer is away is left to the tools to say, in words that an agent
// understands.
func (s *server) authenticateMCP(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		call, r, w := callOf(c), c.Request(), c.Response()
		if s.tokens != nil {
			call.scope = agentScopes() // what a client may ask its user for
		}
		if r.Header.Get(echo.HeaderAuthorization) != "" {
			caller, err := s.identify(r.Context(), bearer(r))
			if !errors.Is(err, jobs.Unauthenticated) {
				call.caller = caller
				return next(c)
			}
			if refusal, ok := errors.AsType[*jobs.Error](err); ok {
				call.cause = refusal.Cause
			}
		}
		challenge := s.challenge(c, jobs.Unauthenticated)
		r.Header.Del(echo.HeaderAuthorization)
		w.Before(func() {
			if w.Status == http.StatusUnauthorized {
				w.Header().Set(echo.HeaderWWWAuthenticate, challenge)
			}
		})
		return next(c)
	}
}

// agentScopes are all but the one that brings secrets into an agent's context.
func agentScopes() string {
	return strings.Join(slices.DeleteFunc(jobs.AllScopes(), func(scope string) bool {
		return scope == jobs.ScopeCredentialsRead
	}), " ")
}
