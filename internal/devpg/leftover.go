package devpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopLeftover deals with the server of a process that was killed together with its guard. The lock
// is ours, so nobody uses it any more.
func (c *cluster) stopLeftover(ctx context.Context, log *slog.Logger) error {
	pid := c.recordedPID()
	if pid == 0 || !alive(pid) {
		return nil // PostgreSQL itself knows how to clean up after a dead one
	}
	if !c.isOurs(ctx, pid) {
		// The number was given to another process since, which PostgreSQL would take for a server.
		if err := os.Remove(c.pidPath()); err != nil {
			return fmt.Errorf("remove stale postmaster.pid: %w", err)
		}
		return nil
	}
	log.Warn("stopping a postgresql that was left running", "pid", pid)
	if err := syscall.Kill(pid, syscall.SIGINT); err != nil {
		return fmt.Errorf("stop the postgresql that was left running (pid %d): %w", pid, err)
	}
	for c.isOurs(ctx, pid) { // not alive: where nobody reaps it, a zombie stays alive for ever
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the postgresql that was left running (pid %d): %w", pid, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// recordedPID is the number in postmaster.pid, 0 when there is none.
func (c *cluster) recordedPID() int {
	data, err := os.ReadFile(c.pidPath())
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(data), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 1 { // signals to those go to more than one process
		return 0
	}
	return pid
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// isOurs tells whether the process is a postgres with our data folder on its command line.
func (c *cluster) isOurs(ctx context.Context, pid int) bool {
	if runtime.GOOS == "linux" { // small images have no ps
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		args := strings.Split(string(line), "\x00")
		return slices.Contains(args, "-D") && slices.Contains(args, c.dir)
	}
	line, _ := exec.CommandContext(ctx, "ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return bytes.Contains(line, []byte("-D "+c.dir+" "))
}
