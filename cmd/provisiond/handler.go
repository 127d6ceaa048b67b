package main

import (
	"errors"
	"net/http"

	"github.com/provisiond/provisiond/api"
	"github.com/provisiond/provisiond/mcpfacade"
)

// handler is the whole HTTP surface: the API with its reference and health checks, and the MCP facade,
// which calls the API in-process. A worker has the health checks alone.
func (r *replica) handler() (http.Handler, error) {
	var mcpErr error
	handler, err := api.New(api.Config{
		Service:   r.service,
		PublicURL: r.publicURL(r.public),
		MaxWait:   r.MaxWait,
		OIDC:      r.oidc(),
		Logger:    r.log,
		MCP: func(handler http.Handler) http.Handler {
			var facade http.Handler
			facade, mcpErr = mcpfacade.New(mcpfacade.Config{
				API:          handler,
				PublicURL:    r.publicURL(r.public),
				AllowedHosts: r.AllowedHosts, AllowedOrigins: r.AllowedOrigins,
				MaxWait: r.MaxWait,
				Version: version(),
				Logger:  r.log,
			})
			return facade
		},
	})
	if err := errors.Join(err, mcpErr); err != nil {
		return nil, err
	}
	if r.role != roleWorker {
		return handler, nil
	}
	health := http.NewServeMux()
	health.Handle("/health/", handler)
	return health, nil
}
