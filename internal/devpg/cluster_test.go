package devpg

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prepare func(t *testing.T, dir string)
		want    string
	}{
		"folder of something else": {
			prepare: func(t *testing.T, dir string) {
				t.Helper()
				write(t, filepath.Join(dir, "diary.txt"), "dear")
			},
			want: "holds files that are not PostgreSQL's",
		},
		"other version": {
			prepare: func(t *testing.T, dir string) {
				t.Helper()
				write(t, filepath.Join(dir, "PG_VERSION"), "9\n")
			},
			want: "the data was made by PostgreSQL 9, and this machine has ",
		},
		"lost password": {
			prepare: func(t *testing.T, dir string) {
				t.Helper()
				initialised(t, dir)
				remove(t, dir+".password")
			},
			want: "read the data folder's password",
		},
		"wrong password": {
			prepare: func(t *testing.T, dir string) {
				t.Helper()
				initialised(t, dir)
				write(t, dir+".password", "other")
			},
			want: "is not the password of the data",
		},
		"broken data": {
			prepare: func(t *testing.T, dir string) {
				t.Helper()
				initialised(t, dir)
				remove(t, filepath.Join(dir, "global", "pg_control"))
			},
			want: "pg_control",
		},
		"file in the way": {
			prepare: func(t *testing.T, dir string) {
				t.Helper()
				write(t, dir, "")
			},
			want: "not a directory",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(tempDir(t), "data")
			test.prepare(t, dir)
			_, err := Start(t.Context(), Options{DataDir: dir, Settings: fast})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want it to contain %q", err, test.want)
			}
		})
	}
}

func TestUnfinishedInitIsMadeAnew(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(tempDir(t), "data")
	write(t, filepath.Join(dir+".new", "PG_VERSION"), "")
	if err := os.Mkdir(dir, 0o700); err != nil { // an empty folder is no obstacle
		t.Fatal(err)
	}
	start(t, Options{DataDir: dir})
}

func initialised(t *testing.T, dir string) {
	t.Helper()
	if err := start(t, Options{DataDir: dir}).Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
