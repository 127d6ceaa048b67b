// Command provisiond is the server and its operator's tools. `provisiond --help` lists them.
//
// It exits with
//   - 0: done;
//   - 1: it failed, and standard error says why (for `catalog check`: the catalog has errors);
//   - 2: flags, variables or the files that they name are wrong; nothing was started.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal drains. From then on signals do what they do by default, so a second one
	// quits at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr))
}
