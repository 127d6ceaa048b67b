package mcpfacade

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// guard stands before the SDK: it refuses foreign hosts and origins and requests without
// credentials, and mends a header that proxies double.
func guard(cfg Config, next http.Handler) (http.Handler, error) {
	hosts := append([]string{"localhost", "127.0.0.1", "::1"}, cfg.AllowedHosts...)
	origins := http.NewCrossOriginProtection()
	for _, origin := range cfg.AllowedOrigins {
		if err := origins.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("mcpfacade: allowed origin: %w", err)
		}
	}
	if cfg.PublicURL != "" {
		public, err := url.Parse(cfg.PublicURL)
		if err != nil || public.Host == "" {
			return nil, fmt.Errorf("mcpfacade: public URL: must be absolute")
		}
		hosts = append(hosts, public.Hostname())
		if err := origins.AddTrustedOrigin(public.Scheme + "://" + public.Host); err != nil {
			return nil, fmt.Errorf("mcpfacade: public URL: %w", err)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !allowedHost(hosts, r.Host):
			refuse(w, http.StatusForbidden, "host_not_allowed",
				"The Host header is not one of this server's. An operator can add it to the allowed hosts.")
		case r.Header.Get("Origin") != "" && origins.Check(r) != nil:
			refuse(w, http.StatusForbidden, "origin_not_allowed",
				"The Origin header is not one of this server's. An operator can add it to the allowed origins.")
		case misspelt(r.URL.Query()):
			refuse(w, http.StatusBadRequest, "invalid_request", "The query parameter read_only must be given once, as true or false.")
		case r.Header.Get("Authorization") == "":
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeError(w, http.StatusUnauthorized, exactID(idOf(w, r)), refusal("unauthenticated",
				`The header "Authorization: Bearer <key>" is missing, or its key is wrong, expired or revoked.`))
		default:
			collapseVersion(r.Header)
			next.ServeHTTP(w, r)
		}
	}), nil
}

// allowedHost compares without the port, since a proxy may listen on another one.
func allowedHost(allowed []string, host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	return slices.ContainsFunc(allowed, func(a string) bool { return a == "*" || strings.EqualFold(a, host) })
}

// collapseVersion makes one of equal copies of the version header, which some proxies repeat as a
// second header or behind a comma. Different ones stay, and the SDK refuses them.
func collapseVersion(h http.Header) {
	versions := strings.Split(strings.Join(h.Values(versionHeader), ","), ",")
	for i := range versions {
		versions[i] = strings.TrimSpace(versions[i])
	}
	if versions = slices.Compact(versions); versions[0] != "" {
		h.Set(versionHeader, strings.Join(versions, ","))
	}
}

// refuse answers before a request is read as JSON-RPC, and so with the ID null. The code is the one that
// the API's problems have.
func refuse(w http.ResponseWriter, status int, code, detail string) {
	writeError(w, status, nil, refusal(code, detail))
}

func refusal(code, detail string) *jsonrpc.Error {
	return &jsonrpc.Error{
		Code: jsonrpc.CodeInvalidRequest, Message: detail, Data: json.RawMessage(`{"code":"` + code + `"}`),
	}
}

// idOf is the ID of a call that is refused. Where the body is none it is nil.
func idOf(w http.ResponseWriter, r *http.Request) json.RawMessage {
	var msg message
	if body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody)); err == nil {
		_ = json.Unmarshal(body, &msg) // See above.
	}
	return msg.ID
}
