package devpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// errEnded is a server that ended before it was ready.
var errEnded = errors.New("postgresql ended at its start")

// process is a running postgres and its guard.
type process struct {
	cmd   *exec.Cmd
	guard *guard
	done  chan struct{} // closed when the server has ended
}

// launch starts postgres. It listens on 127.0.0.1 alone, not on a Unix socket, whose path has a
// length limit and needs a folder. The server outlives the context.
func (c *cluster) launch(ctx context.Context, port int) (*process, error) {
	args := []string{
		"-D", c.dir, "-p", strconv.Itoa(port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
	}
	for name, value := range c.settings {
		args = append(args, "-c", name+"="+value)
	}
	log, err := os.OpenFile(c.logPath(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make server log: %w", err)
	}
	defer log.Close() //nolint:errcheck // the server has its own handle
	ctx = context.WithoutCancel(ctx)
	cmd := c.account.command(exec.CommandContext(ctx, filepath.Join(c.bin, "postgres"), args...))
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	if p.guard, err = startGuard(ctx, c.account, cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		p.guard.dismiss()
		close(p.done)
	}()
	return p, nil
}

// stop asks for a fast shutdown: sessions are ended, transactions rolled back, data written.
func (p *process) stop(ctx context.Context) error {
	_ = p.cmd.Process.Signal(syscall.SIGINT) // fails only when it has ended
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		// SIGQUIT takes the sessions' processes along, SIGKILL would leave them to notice.
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		<-p.done
		return fmt.Errorf("stop postgresql: %w", ctx.Err())
	}
}

// guard stops the server when this process is killed: a shell that waits for the end of a pipe which
// only we hold open. Unlike Linux's parent-death signal it works on every Unix, and does not depend
// on the thread that started the server.
type guard struct {
	cmd  *exec.Cmd
	pipe io.Closer
}

func startGuard(ctx context.Context, a *account, pid int) (*guard, error) {
	cmd := a.command(exec.CommandContext(ctx, "/bin/sh", "-c", `read -r _; kill -INT "$1"`, "sh", strconv.Itoa(pid)))
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the server's guard: %w", err)
	}
	return &guard{cmd: cmd, pipe: pipe}, nil
}

// dismiss ends the guard without its doing, as the server has ended.
func (g *guard) dismiss() {
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait()
	_ = g.pipe.Close()
}

func isWrongPassword(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == "28P01" // invalid_password
}

// logTail is the end of the server's log, for an error.
func (c *cluster) logTail() string {
	const lines = 10
	data, err := os.ReadFile(c.logPath())
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
