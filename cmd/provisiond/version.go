package main

import (
	"context"
	"fmt"
	"runtime/debug"
)

type versionCmd struct{}

func (c *versionCmd) run(_ context.Context, p *process) error {
	_, err := fmt.Fprintln(p.stdout, version())
	return err
}

// version is what the Go tool chain stamped: the module's version, or that of the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
