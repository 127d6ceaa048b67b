package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/provisiond/provisiond/jobs"
)

// authenticate finds the caller and checks the scope that the contract asks for.
func (s *server) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		call := callOf(c)
		if call.operation == nil || call.operation.scope == "" {
			return next(c)
		}
		caller, err := s.identify(c.Request().Context(), bearer(c.Request()))
		if err != nil {
			return err
		}
		call.caller = caller
		if scope := call.operation.scope; !caller.Can(scope) {
			call.scope = scope
			return &jobs.Error{Code: jobs.InsufficientScope, Detail: fmt.Sprintf("The key or token needs the scope %s.", scope)}
		}
		return next(c)
	}
}

// identify finds who an API key or, where there is an issuer, an access token belongs to.
func (s *server) identify(ctx context.Context, token string) (jobs.Caller, error) {
	if s.tokens != nil && isJWT(token) {
		return s.tokens.caller(ctx, token)
	}
	return s.service.Authenticate(ctx, token)
}

// bearer returns the token of the one Authorization header (RFC 6750), or "", which no key is.
func bearer(r *http.Request) string {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimLeft(token, " ")
}
