package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/provisiond/provisiond/internal/pgtest/memdir"
)

// sharedFolder is where the test binaries of this user meet. The server's user must get into it too,
// which may be another one: what is secret in it has a mode of its own.
func sharedFolder() (string, error) {
	dir := filepath.Join(memdir.Path(), "provisiond-pgtest-"+strconv.Itoa(os.Getuid()))
	//nolint:gosec // the server's user must get in
	if err := os.Mkdir(dir, 0o711); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make folder for the test server: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("read folder of the test server: %w", err)
	}
	// The temporary folder is everyone's: another user may have been there first.
	if stat, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || !ok || int(stat.Uid) != os.Getuid() {
		return "", fmt.Errorf("%s is not a folder of this user", dir)
	}
	return dir, nil
}
