package devpg

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A closed folder is an obstacle for root's server only, which runs as another user.
func TestDataBelowClosedFolder(t *testing.T) {
	t.Parallel()
	closed := filepath.Join(tempDir(t), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	opts := Options{DataDir: filepath.Join(closed, "below", "data"), Settings: fast}
	if os.Geteuid() != 0 {
		start(t, opts)
		return
	}
	_, err := Start(t.Context(), opts)
	if err == nil || !strings.Contains(err.Error(), "who may not enter "+closed+": choose a data folder") {
		t.Errorf("error %v does not name the closed folder", err)
	}
	if info, err := os.Stat(closed); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the closed folder was changed: %v, error %v", info.Mode(), err)
	}
}

func TestDefaultFoldersCanBeEntered(t *testing.T) {
	t.Parallel()
	account, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	data, err := DefaultDataDir()
	if err != nil {
		t.Fatal(err)
	}
	cache, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{data, cache} {
		for !exists(dir) {
			dir = filepath.Dir(dir)
		}
		if closed := account.closedFolder(t.Context(), dir); closed != "" {
			t.Errorf("the server's user may not enter %s", closed)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
