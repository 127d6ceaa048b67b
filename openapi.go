// Package provisiond holds the API contract, openapi.yaml, so that the server can validate against
// it and serve it, and so that other Go programs can read it.
package provisiond

import _ "embed"

// OpenAPI is the text of openapi.yaml (OpenAPI 3.1).
//
//go:embed openapi.yaml
var OpenAPI []byte
