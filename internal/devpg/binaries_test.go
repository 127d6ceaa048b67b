package devpg

import (
	"archive/zip"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	account, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	root := tempDir(t)
	for version, line := range map[string]string{
		"13": "postgres (PostgreSQL) 13.21", "14": "postgres (PostgreSQL) 14.18 (Debian 14.18-1)",
		"16": "postgres (PostgreSQL) 16.9", "odd": "something else",
	} {
		fakeBinaries(t, filepath.Join(root, version), line)
	}
	remove(t, filepath.Join(root, "odd", "initdb"))
	tests := map[string]struct {
		want    int
		dirs    []string
		dir     string
		problem string
	}{
		"newest for new data":     {dirs: []string{"14", "16", "13"}, dir: "16"},
		"the data's version":      {want: 14, dirs: []string{"16", "14"}, dir: "14"},
		"too old for new data":    {dirs: []string{"13", "odd", "missing"}},
		"none":                    {},
		"none, and data to fetch": {want: fetchMajor, dirs: []string{"14"}},
		"not the data's version":  {want: 15, dirs: []string{"16", "14", "16"}, problem: "PostgreSQL 15, and this machine has 14, 16:"},
		"none for the data":       {want: 15, problem: "PostgreSQL 15, and this machine has none:"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var dirs []string
			for _, dir := range test.dirs {
				dirs = append(dirs, filepath.Join(root, dir))
			}
			dir, err := choose(t.Context(), account, test.want, dirs)
			if test.dir != "" {
				test.dir = filepath.Join(root, test.dir)
			}
			if dir != test.dir {
				t.Errorf("folder %q, want %q", dir, test.dir)
			}
			if (err != nil) != (test.problem != "") || err != nil && !strings.Contains(err.Error(), test.problem) {
				t.Errorf("error %v, want it to contain %q", err, test.problem)
			}
		})
	}
}

func fakeBinaries(t *testing.T, dir, version string) {
	t.Helper()
	for _, name := range []string{"postgres", "initdb"} {
		path := filepath.Join(dir, name)
		write(t, path, "#!/bin/sh\necho '"+version+"'\n")
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// testdata/postgres.txz holds shell scripts bin/postgres, bin/initdb and bin/pg_ctl in place of
// programs. The latter two fail, as the real ones do for root.
func TestFetch(t *testing.T) {
	t.Parallel()
	account, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	var downloads int
	repository := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ".jar") {
			http.NotFound(w, r)
			return
		}
		downloads++
		serveJar(t, w)
	}))
	defer repository.Close()
	cache := filepath.Join(tempDir(t), "cache")
	for range 2 {
		dir, err := fetchBinaries(t.Context(), account, cache, repository.URL)
		if err != nil {
			t.Fatal(err)
		}
		if major, err := majorVersion(t.Context(), account, dir); err != nil || major != fetchMajor {
			t.Errorf("fetched version %d, error %v", major, err)
		}
	}
	if downloads != 1 {
		t.Errorf("%d downloads, want 1: the cache has it", downloads)
	}
	if entries, err := os.ReadDir(cache); err != nil || len(entries) != 1 {
		t.Errorf("the cache holds %v, error %v, want the binaries alone", entries, err)
	}
}

func serveJar(t *testing.T, w http.ResponseWriter) {
	t.Helper()
	archive, err := os.ReadFile(filepath.Join("testdata", "postgres.txz"))
	if err != nil {
		t.Error(err)
		return
	}
	jar := zip.NewWriter(w)
	file, err := jar.Create("postgres.txz")
	if err == nil {
		_, err = file.Write(archive)
	}
	if err == nil {
		err = jar.Close()
	}
	if err != nil {
		t.Error(err)
	}
}

func TestFailedFetchTellsWhatToInstall(t *testing.T) {
	t.Parallel()
	account, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	repository := httptest.NewServer(http.NotFoundHandler())
	defer repository.Close()
	_, err = fetchBinaries(t.Context(), account, tempDir(t), repository.URL)
	if err == nil || !strings.Contains(err.Error(), "apt-get install postgresql") {
		t.Errorf("error %v does not tell what to install", err)
	}
}
