package devpg

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/internal/pgtest/memdir"
)

// holdEnv makes the test binary a process that starts the server of a folder and waits to be killed.
const holdEnv = "DEVPG_TEST_HOLD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holdEnv); dir != "" {
		hold(dir)
	}
	os.Exit(m.Run())
}

func hold(dir string) {
	server, err := Start(context.Background(), Options{DataDir: dir, Settings: fast})
	if err != nil {
		_, _ = fmt.Fprintln(os.Stdout, err)
		os.Exit(1)
	}
	_, _ = fmt.Fprintln(os.Stdout, server.URL())
	select {}
}

// fast spares the tests the waits for the disk.
var fast = map[string]string{"fsync": "off"}

// tempDir is t.TempDir that the server's user can get into when we are root.
func tempDir(t *testing.T) string {
	t.Helper()
	//nolint:usetesting // this is about t.TempDir, which is closed to that user
	dir, err := os.MkdirTemp(memdir.Path(), "devpg-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func start(t *testing.T, opts Options) *Server {
	t.Helper()
	if opts.Settings == nil {
		opts.Settings = fast
	}
	server, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return server
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // the server may be gone
	return conn
}

func execSQL(t *testing.T, url, sql string) {
	t.Helper()
	if _, err := connect(t, url).Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}
