package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"

	"github.com/provisiond/provisiond"
)

// docsPath is where the reference page and its files are.
const docsPath = "/docs"

// registerDocs serves the contract and its reference page, whose files are built in: it works
// without the internet.
func (s *server) registerDocs(r withHead) error {
	ui := v5emb.NewHandlerWithConfig(swgui.Config{Title: "provisiond", SwaggerJSON: "/openapi.json", BasePath: docsPath})
	page, err := renderDocs(ui)
	if err != nil {
		return err
	}
	policy := contentSecurityPolicy(page)
	r.GET(docsPath, func(c echo.Context) error {
		c.Response().Header().Set("Content-Security-Policy", policy)
		return serve(c, "text/html; charset=utf-8", page)
	})
	for _, file := range ownFile.FindAllSubmatch(page, -1) {
		r.GET(string(file[1]), echo.WrapHandler(ui))
	}
	r.GET("/openapi.yaml", func(c echo.Context) error { return serve(c, "application/yaml", provisiond.OpenAPI) })
	r.GET("/openapi.json", func(c echo.Context) error { return serve(c, "application/json", s.contract.json) })
	r.GET("/", func(c echo.Context) error { return c.Redirect(http.StatusFound, docsPath) })
	return nil
}

// renderDocs makes the page once: it is the same for everyone.
func renderDocs(ui http.Handler) ([]byte, error) {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, docsPath, nil)
	if err != nil {
		return nil, fmt.Errorf("reference page: %w", err)
	}
	w := &page{header: http.Header{}, status: http.StatusOK}
	ui.ServeHTTP(w, r)
	if w.status != http.StatusOK {
		return nil, fmt.Errorf("reference page: status %d", w.status)
	}
	return w.Bytes(), nil
}

// page is a http.ResponseWriter into memory.
type page struct {
	bytes.Buffer
	header http.Header
	status int
}

func (p *page) Header() http.Header    { return p.header }
func (p *page) WriteHeader(status int) { p.status = status }

// serve answers with fixed content, to be asked for again by its ETag.
func serve(c echo.Context, contentType string, content []byte) error {
	h := c.Response().Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache")
	digest := sha256.Sum256(content)
	h.Set("ETag", `"`+hex.EncodeToString(digest[:16])+`"`)
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(content))
	return nil
}

// ownFile finds what the page loads from here, which is all that it loads.
var ownFile = regexp.MustCompile(`(?:src|href)="(` + docsPath + `/[^"]+)"`)

var inlineScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// contentSecurityPolicy lets the page load nothing but its own files, and run no script but those
// and the ones that are in it. Swagger UI sets styles inline.
func contentSecurityPolicy(page []byte) string {
	scripts := []string{"'self'"}
	for _, match := range inlineScript.FindAllSubmatch(page, -1) {
		digest := sha256.Sum256(match[1])
		scripts = append(scripts, "'sha256-"+base64.StdEncoding.EncodeToString(digest[:])+"'")
	}
	return "default-src 'none'; script-src " + strings.Join(scripts, " ") + "; style-src 'self' 'unsafe-inline'; " +
		"img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
