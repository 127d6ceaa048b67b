package devpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is who runs the server: nil for the user that we are.
type account struct {
	name     string
	uid, gid uint32
}

// serverAccount is nil unless we are root, as whom PostgreSQL refuses to run.
func serverAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nil is the account that we have
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &account{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, errors.New("postgresql does not run as root, and there is no user postgres or nobody to run it as")
}

// DefaultDataDir is a folder for the data that Start can use: in the user's home, or below /var/lib
// for root, into whose home the server's user cannot look.
func DefaultDataDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/provisiond-dev/postgresql", nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the home folder: %w", err)
	}
	return filepath.Join(home, ".local", "share", "provisiond-dev", "postgresql"), nil
}

// command runs as the account, in a process group of its own: a Ctrl-C in the terminal is for us,
// and we still need the database while we drain.
func (a *account) command(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Dir = "/" // our own may be closed to the account
	if a != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return cmd
}

// own gives a file to the account.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}

// prepareParent makes the folder that the data folder goes into and sees that the account can get
// to it. It opens up no folder that was there before.
func (a *account) prepareParent(ctx context.Context, dir string) error {
	//nolint:gosec // the account must get in
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder for the data: %w", err)
	}
	if closed := a.closedFolder(ctx, dir); closed != "" {
		return fmt.Errorf("postgresql does not run as root but as user %s, who may not enter %s: "+
			"choose a data folder outside of it, such as below /var/lib, or start as another user", a.name, closed)
	}
	return nil
}

// closedFolder returns the first folder on the way to dir, itself included, that the account may not
// enter. It asks the kernel, which knows of ACLs and the like too.
func (a *account) closedFolder(ctx context.Context, dir string) string {
	if a == nil || a.canEnter(ctx, dir) {
		return ""
	}
	if parent := filepath.Dir(dir); parent != dir {
		if closed := a.closedFolder(ctx, parent); closed != "" {
			return closed
		}
	}
	return dir
}

func (a *account) canEnter(ctx context.Context, dir string) bool {
	return a.command(exec.CommandContext(ctx, "/bin/sh", "-c", `cd "$1"`, "sh", dir)).Run() == nil
}
