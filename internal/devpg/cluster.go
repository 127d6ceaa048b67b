package devpg

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const superuser = "postgres"

// cluster is a data folder and what is needed to run its server.
type cluster struct {
	dir      string // absolute
	bin      string // folder of the binaries
	account  *account
	settings map[string]string
}

func (c *cluster) passwordPath() string { return c.dir + ".password" }
func (c *cluster) logPath() string      { return c.dir + ".log" }
func (c *cluster) pidPath() string      { return filepath.Join(c.dir, "postmaster.pid") }

// major is the version that made the data, 0 when there is none yet.
func (c *cluster) major() int {
	data, err := os.ReadFile(filepath.Join(c.dir, "PG_VERSION"))
	if err != nil {
		return 0
	}
	major, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	return major
}

// initialise makes the data in a folder beside and then moves it into place, so that a start cut
// off half-way is made anew rather than used.
func (c *cluster) initialise(ctx context.Context) error {
	if c.major() != 0 {
		return nil
	}
	if err := refuseForeign(c.dir); err != nil {
		return err
	}
	fresh := c.dir + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("remove unfinished data: %w", err)
	}
	if err := os.Mkdir(fresh, 0o700); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	if err := c.account.own(fresh); err != nil {
		return fmt.Errorf("give data folder to the server's user: %w", err)
	}
	if err := c.writePassword(); err != nil {
		return err
	}
	if err := c.initdb(ctx, fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, c.dir); err != nil {
		return fmt.Errorf("move data into place: %w", err)
	}
	return nil
}

// refuseForeign keeps us from replacing a folder that holds something else. An empty one goes.
func refuseForeign(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read data folder: %w", err)
	case len(entries) > 0:
		return fmt.Errorf("data folder %s holds files that are not PostgreSQL's: choose another", dir)
	}
	if err := os.Remove(dir); err != nil {
		return fmt.Errorf("replace empty data folder: %w", err)
	}
	return nil
}

// writePassword keeps the superuser's password for this and later starts. initdb reads it as the
// account, so the account owns it.
func (c *cluster) writePassword() error {
	if err := os.WriteFile(c.passwordPath(), []byte(rand.Text()), 0o600); err != nil {
		return fmt.Errorf("write password: %w", err)
	}
	if err := c.account.own(c.passwordPath()); err != nil {
		return fmt.Errorf("give password to the server's user: %w", err)
	}
	return nil
}

func (c *cluster) initdb(ctx context.Context, dir string) error {
	args := []string{
		"--pgdata=" + dir, "--username=" + superuser, "--pwfile=" + c.passwordPath(),
		"--auth=scram-sha-256", "--encoding=UTF8", "--no-locale",
	}
	if c.settings["fsync"] == "off" {
		args = append(args, "--no-sync")
	}
	cmd := c.account.command(exec.CommandContext(ctx, filepath.Join(c.bin, "initdb"), args...))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// start runs the server until it takes connections. It tries again when the server ends at once: the
// free port may have been taken meanwhile, or sessions of a killed server may need a moment to go.
func (c *cluster) start(ctx context.Context, port int) (*process, string, error) {
	const tries = 3
	for try := 1; ; try++ {
		proc, url, err := c.startOnce(ctx, port)
		if err == nil {
			return proc, url, nil
		}
		if try == tries || !errors.Is(err, errEnded) {
			return nil, "", err
		}
		select {
		case <-ctx.Done():
			return nil, "", ctx.Err()
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func (c *cluster) startOnce(ctx context.Context, port int) (*process, string, error) {
	password, err := os.ReadFile(c.passwordPath())
	if err != nil {
		return nil, "", fmt.Errorf("read the data folder's password: %w", err)
	}
	if port == 0 {
		free, err := freePort(ctx)
		if err != nil {
			return nil, "", err
		}
		port = int(free)
	}
	proc, err := c.launch(ctx, port)
	if err != nil {
		return nil, "", err
	}
	address := url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, string(password)),
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Path: "/postgres", RawQuery: "sslmode=disable",
	}
	if err := c.awaitReady(ctx, proc, address.String()); err != nil {
		_ = proc.stop(ctx) // the error at hand tells more
		return nil, "", err
	}
	address.Path = "/" + database
	return proc, address.String(), nil
}

// awaitReady returns when the server takes connections and has our database.
func (c *cluster) awaitReady(ctx context.Context, proc *process, url string) error {
	for !c.isReady(proc.cmd.Process.Pid) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for postgresql: %w", ctx.Err())
		case <-proc.done:
			return fmt.Errorf("%w: %s", errEnded, c.logTail())
		case <-time.After(10 * time.Millisecond):
		}
	}
	conn, err := pgx.Connect(ctx, url)
	if isWrongPassword(err) {
		return fmt.Errorf("%s is not the password of the data in %s: restore it, or remove both to begin anew", c.passwordPath(), c.dir)
	}
	if err != nil {
		return fmt.Errorf("connect to postgresql: %w", err)
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is under way
	return ensureDatabase(ctx, conn)
}

// isReady reads the status that the server keeps in the eighth line of postmaster.pid. Connecting
// would not tell our server from another program on that port.
func (c *cluster) isReady(pid int) bool {
	const statusLine = 8
	data, err := os.ReadFile(c.pidPath())
	if err != nil {
		return false
	}
	lines := strings.Split(string(data), "\n")
	return len(lines) >= statusLine && lines[0] == strconv.Itoa(pid) &&
		strings.TrimSpace(lines[statusLine-1]) == "ready"
}

func freePort(ctx context.Context) (uint16, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close() //nolint:errcheck // nothing was written
	address, err := netip.ParseAddrPort(l.Addr().String())
	return address.Port(), err
}
