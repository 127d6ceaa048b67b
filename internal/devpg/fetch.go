package devpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

const (
	fetchVersion = embeddedpostgres.V18
	fetchMajor   = 18
	fetchURL     = "https://repo1.maven.org/maven2"
)

// installHint says how to do without the download.
const installHint = "install PostgreSQL 14 or later (`apt-get install postgresql`, `dnf install postgresql-server`, " +
	"`brew install postgresql`) or point PROVISIOND_DATABASE_URL at a server"

// fetchBinaries downloads PostgreSQL once and keeps it in the cache.
func fetchBinaries(ctx context.Context, a *account, cache, repository string) (string, error) {
	if err := a.prepareParent(ctx, cache); err != nil {
		return "", err
	}
	root := filepath.Join(cache, string(fetchVersion))
	bin := filepath.Join(root, "bin")
	if _, err := majorVersion(ctx, a, bin); err == nil {
		return bin, nil
	}
	if err := fetchInto(ctx, cache, root, repository); err != nil {
		return "", fmt.Errorf("fetch PostgreSQL %s: %w; %s", fetchVersion, err, installHint)
	}
	if _, err := majorVersion(ctx, a, bin); err != nil {
		return "", fmt.Errorf("the fetched PostgreSQL does not run: %w; %s", err, installHint)
	}
	return bin, nil
}

// cacheDir is below /var/cache for root, for the reason that DefaultDataDir gives.
func cacheDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/cache/provisiond-dev", nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	return filepath.Join(cache, "provisiond-dev"), nil
}

// fetchInto unpacks beside the target and moves the whole into place, so that a download cut off
// half-way leaves nothing that looks complete.
func fetchInto(ctx context.Context, cache, root, repository string) error {
	tmp, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // a left-over in the cache harms nobody
	unpacked := filepath.Join(tmp, "unpacked")
	if err := download(ctx, tmp, unpacked, repository); err != nil {
		return err
	}
	if err := os.RemoveAll(root); err != nil { // unusable, or we would not be here
		return err
	}
	return os.Rename(unpacked, root)
}

// download leaves the binaries in unpacked. The library only offers to start a server, which as root
// cannot work, so what counts is whether the files are there. Its download takes no context: when
// ours ends, the download is left to end by itself.
func download(ctx context.Context, tmp, unpacked, repository string) error {
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	server := embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		Version(fetchVersion).
		BinaryRepositoryURL(repository).
		CachePath(filepath.Join(tmp, "archive")).
		BinariesPath(unpacked).
		RuntimePath(filepath.Join(tmp, "runtime")).
		DataPath(filepath.Join(tmp, "data")).
		Port(uint32(port)).
		Logger(io.Discard))
	started := make(chan error, 1)
	go func() {
		err := server.Start()
		if err == nil {
			err = server.Stop()
		}
		started <- err
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err = <-started:
	}
	for _, name := range []string{"postgres", "initdb"} {
		if _, statErr := os.Stat(filepath.Join(unpacked, "bin", name)); statErr != nil {
			return errors.Join(err, statErr)
		}
	}
	return nil
}
