package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/provisiond/provisiond/jobs"
)

// metadataPath is where RFC 9728, section 3, has the metadata of a protected resource. The path of the
// resource follows.
const metadataPath = "/.well-known/oauth-protected-resource"

// resourceMetadata tells a client where to get an access token (RFC 9728, section 2).
type resourceMetadata struct {
	Resource             string   `json:"resource"`
	ResourceName         string   `json:"resource_name"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	Documentation        string   `json:"resource_documentation"`
}

// registerMetadata serves the metadata of the API and of MCP, to anyone and to scripts of any page.
func (s *server) registerMetadata(e *echo.Echo, issuer string) {
	for _, path := range []string{"", mcpPath} {
		metadata := resourceMetadata{
			Resource:             s.publicURL + path,
			ResourceName:         "provisiond",
			AuthorizationServers: []string{issuer},
			ScopesSupported:      jobs.AllScopes(),
			BearerMethods:        []string{"header"},
			Documentation:        s.publicURL + docsPath,
		}
		withHead{e}.GET(metadataPath+path, func(c echo.Context) error {
			c.Response().Header().Set(echo.HeaderAccessControlAllowOrigin, "*")
			return c.JSON(http.StatusOK, metadata)
		})
		// MCP clients in browsers send headers of their own, so they ask before.
		e.OPTIONS(metadataPath+path, func(c echo.Context) error {
			h := c.Response().Header()
			h.Set(echo.HeaderAccessControlAllowOrigin, "*")
			h.Set(echo.HeaderAccessControlAllowMethods, "GET, HEAD")
			h.Set(echo.HeaderAccessControlAllowHeaders, "*")
			return c.NoContent(http.StatusNoContent)
		})
	}
}
