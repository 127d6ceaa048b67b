package catalog

import (
	_ "embed"
	"slices"
)

//go:embed builtin.yaml
var builtin []byte

// Builtin returns the catalog of "provisiond dev". It needs the drivers postgres and sandbox, and
// PROVISIOND_POSTGRES_ADMIN_URL in the environment.
func Builtin() []byte { return slices.Clone(builtin) }
