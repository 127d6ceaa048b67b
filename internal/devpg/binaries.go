package devpg

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// minMajor is the oldest PostgreSQL that provisiond supports.
const minMajor = 14

// findBinaries returns the folder of postgres and initdb, out of the machine's or fetched. Data can be
// read only by the major version that made it; want is that version, or 0 for new data, which gets the
// newest.
func findBinaries(ctx context.Context, a *account, want int, log *slog.Logger) (string, error) {
	dir, err := choose(ctx, a, want, candidates(ctx))
	if dir != "" || err != nil {
		return dir, err
	}
	log.Info("no fitting PostgreSQL on this machine, looking for a fetched one", "version", fetchVersion)
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	return fetchBinaries(ctx, a, cache, fetchURL)
}

// choose returns "" when none of the folders will do but the version that we can fetch will.
func choose(ctx context.Context, a *account, want int, dirs []string) (string, error) {
	best, bestMajor := "", 0
	var found []string
	for _, dir := range dirs {
		major, err := majorVersion(ctx, a, dir)
		if err != nil {
			continue // not there, or not for this account to run
		}
		if major == want {
			return dir, nil
		}
		found = append(found, strconv.Itoa(major))
		if major >= minMajor && major > bestMajor {
			best, bestMajor = dir, major
		}
	}
	switch want {
	case 0:
		return best, nil
	case fetchMajor:
		return "", nil
	default:
		return "", fmt.Errorf("the data was made by PostgreSQL %d, and this machine has %s: install that version, "+
			"or choose another data folder", want, list(found))
	}
}

func list(versions []string) string {
	if len(versions) == 0 {
		return "none"
	}
	slices.Sort(versions)
	return strings.Join(slices.Compact(versions), ", ")
}

// candidates are the places to look for PostgreSQL; the earlier wins between equal versions. Debian and Ubuntu keep the server's
// binaries off the PATH.
func candidates(ctx context.Context) []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		// initdb looks for postgres beside itself, not beside a link to it.
		if target, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(target))
		}
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // errs only on a bad pattern
	return append(dirs, debian...)
}

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// majorVersion runs the account's `postgres --version`, which proves that it may run it.
func majorVersion(ctx context.Context, a *account, dir string) (int, error) {
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return 0, err
	}
	out, err := a.command(exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version")).Output()
	if err != nil {
		return 0, err
	}
	match := versionPattern.FindSubmatch(out)
	if match == nil {
		return 0, fmt.Errorf("cannot read the version of %s", dir)
	}
	return strconv.Atoi(string(match[1]))
}
