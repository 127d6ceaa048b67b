package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitConfig = 2
)

// cli is the command line. Each command has its file.
type cli struct {
	logOptions

	// kong reads all tags of the name set.
	Dev     devCmd   `cmd:"" help:"Try provisiond: PostgreSQL, API, workers and MCP in one process." set:"drain_delay=0s" set:"admin_listen="` //nolint:staticcheck // see above
	Serve   serveCmd `cmd:"" help:"Run a replica." set:"drain_delay=5s" set:"admin_listen=127.0.0.1:8081"`                                     //nolint:staticcheck // see above
	Migrate struct {
		Up     migrateUpCmd     `cmd:"" help:"Bring the database to this release. Safe with replicas running."`
		Status migrateStatusCmd `cmd:"" help:"List the migrations and when they were applied."`
	} `cmd:"" help:"Manage the database schema."`
	Tenants struct {
		Create tenantsCreateCmd `cmd:"" help:"Make a tenant."`
		List   tenantsListCmd   `cmd:"" help:"List the tenants."`
	} `cmd:"" help:"Manage tenants."`
	Keys struct {
		Create keysCreateCmd `cmd:"" help:"Make an API key. It is printed this once and not stored."`
		List   keysListCmd   `cmd:"" help:"List a tenant's API keys."`
		Revoke keysRevokeCmd `cmd:"" help:"Revoke an API key for ever."`
	} `cmd:"" help:"Manage API keys."`
	Jobs struct {
		List   jobsListCmd   `cmd:"" help:"List the jobs of all tenants, newest first."`
		Show   jobsShowCmd   `cmd:"" help:"Show a job with its events, who runs it, and what it may have left."`
		Retry  jobsRetryCmd  `cmd:"" help:"Make a job due now that is queued or waits, with its tries counted anew."`
		Fail   jobsFailCmd   `cmd:"" help:"End a job as failed, with the usual clean-up; a worker that runs it loses it."`
		Forget jobsForgetCmd `cmd:"" help:"End a job at once as failed, without a clean-up; what it may have made goes to orphans list."`
	} `cmd:"" help:"Look at the jobs of all tenants, and go on with stuck ones."`
	Instances struct {
		Forget instancesForgetCmd `cmd:"" help:"Mark an instance as deleted without asking its back end; what it may have there goes to orphans list."`
	} `cmd:"" help:"Give up instances."`
	Orphans struct {
		List   orphansListCmd   `cmd:"" help:"List what may be left at back ends, oldest first."`
		Retry  orphansRetryCmd  `cmd:"" help:"Try again at once to remove it, with the tries counted anew."`
		Forget orphansForgetCmd `cmd:"" help:"Take it off the ledger for good, once it is gone or somebody else's."`
	} `cmd:"" help:"Manage the ledger of what may be left at back ends."`
	Reconcile reconcileCmd `cmd:"" help:"List what back ends hold under provisiond's marker of instances that are deleted or unknown."`
	Workers   workersCmd   `cmd:"" help:"List the workers, their drivers, and the leases that they hold."`
	Catalog   struct {
		Check catalogCheckCmd `cmd:"" help:"Check a catalog file and report all its errors."`
	} `cmd:"" help:"Work on catalogs."`
	Keyset struct {
		Create  keysetCreateCmd  `cmd:"" help:"Make the keyset file that secrets are encrypted with."`
		Rotate  keysetRotateCmd  `cmd:"" help:"Add a new key to the keyset file. It decrypts, but does not encrypt until keyset promote."`
		Promote keysetPromoteCmd `cmd:"" help:"Encrypt with the newest key of the keyset file from now on, once every replica has it."`
	} `cmd:"" help:"Manage the encryption keyset."`
	MCP     mcpCmd     `cmd:"" name:"mcp" help:"Serve the MCP tools of a remote provisiond over standard input and output."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

// process is what a command has of the outside world.
type process struct {
	env            lookup
	stdin          io.Reader
	stdout, stderr io.Writer
	log            *slog.Logger
}

// A command runs until it is done or ctx is.
type command interface {
	run(ctx context.Context, p *process) error
}

// A checker is a command with options of which parsing alone does not show whether they are right.
type checker interface {
	check(env lookup, found *problems)
}

// run is the program. It reads variables only from env and writes nowhere else than it is told, so
// that tests can run many at once.
func run(ctx context.Context, args []string, env lookup, stdin io.Reader, stdout, stderr io.Writer) int {
	var c cli
	found := &problems{}
	selected, err := parse(&c, args, env, found, stdout, stderr)
	if err != nil {
		printLine(stderr, "provisiond: "+withoutURLs(err.Error(), args))
		printLine(stderr, `Run "provisiond --help" for the commands and their flags.`)
	}
	if selected == nil && err == nil {
		return exitDone // help was asked for
	}
	if checked, ok := selected.(checker); ok {
		checked.check(env, found)
	}
	found.print(stderr)
	if err != nil || found.any() {
		return exitConfig
	}
	p := &process{env: env, stdin: stdin, stdout: stdout, stderr: stderr, log: c.logger(stderr)}
	if err := selected.run(ctx, p); err != nil {
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			err = errors.New("a signal ended it before it was done")
		}
		printLine(stderr, "provisiond: "+err.Error())
		return exitFailed
	}
	return exitDone
}

// parse returns the command that was asked for; nil without an error when that was the help.
func parse(c *cli, args []string, env lookup, found *problems, stdout, stderr io.Writer) (command, error) {
	helped := false
	parser, err := kong.New(c,
		kong.Name("provisiond"),
		kong.Description("provisiond provisions databases, buckets, accounts and other services for agents, scripts and SDK clients."),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.ValueFormatter(helpWithVariable),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { helped = true }),
		kong.Resolvers(variables(env, found)),
		found.mappers(),
	)
	if err != nil {
		return nil, fmt.Errorf("command line: %w", err)
	}
	parsed, err := parser.Parse(args)
	switch {
	case helped:
		return nil, nil //nolint:nilnil // nothing is left to run
	case err != nil:
		return nil, err
	}
	selected, ok := reflect.TypeAssert[command](parsed.Selected().Target.Addr())
	if !ok {
		return nil, fmt.Errorf("%s is not a command", parsed.Command())
	}
	return selected, nil
}

// withoutURLs keeps misplaced arguments that may hold a password out of the message.
func withoutURLs(message string, args []string) string {
	for _, arg := range args {
		if strings.Contains(arg, "://") {
			message = strings.ReplaceAll(message, arg, "(a URL)")
		}
	}
	return message
}

// printLine writes to a terminal or log. There is nowhere to report an error of it.
func printLine(w io.Writer, line string) { fmt.Fprintln(w, line) }
