package pgtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/provisiond/provisiond/internal/pgtest/memdir"
)

// memberEnv makes the test binary a user of the server of its working folder, who waits to be killed.
const memberEnv = "PGTEST_TEST_MEMBER"

func TestMain(m *testing.M) {
	if os.Getenv(memberEnv) != "" {
		beMember()
	}
	os.Exit(m.Run())
}

func beMember() {
	url, users, err := join(context.Background(), ".", time.Nanosecond)
	defer users.Close()
	_, _ = fmt.Fprintln(os.Stdout, url, err)
	select {}
}

type member struct {
	cmd *exec.Cmd
	url string
}

func startMember(dir string) (*member, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), memberEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	m := &member{cmd: cmd}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		m.kill()
		return nil, err
	}
	url, failure, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	if failure != "<nil>" {
		m.kill()
		return nil, errors.New(failure)
	}
	m.url = url
	return m, nil
}

// kill is how a test binary ends at worst.
func (m *member) kill() {
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait()
}

func startMembers(t *testing.T, dir string, n int) []*member {
	t.Helper()
	members := make([]*member, n)
	var group errgroup.Group
	for i := range members {
		group.Go(func() (err error) {
			members[i], err = startMember(dir)
			return err
		})
	}
	err := group.Wait()
	for _, m := range members {
		if m != nil {
			t.Cleanup(m.kill)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return members
}

// folder is removed when its keeper has ended.
func folder(t *testing.T) string {
	t.Helper()
	//nolint:usetesting // t.TempDir is closed to the server's user
	dir, err := os.MkdirTemp(memdir.Path(), "pgtest-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// awaitEnd returns when the server has cut the session, as it does when it stops.
func awaitEnd(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	if _, err := conn.WaitForNotification(t.Context()); err == nil || t.Context().Err() != nil {
		t.Fatalf("error %v, want the end of the session", err)
	}
}

// awaitKeeper returns when the keeper has ended. It holds the users file until then.
func awaitKeeper(t *testing.T, dir string) {
	t.Helper()
	users, err := lock(filepath.Join(dir, "users"), syscall.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	_ = users.Close()
}

func dial(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func TestBinariesShareOneServerAndLeaveNothing(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	members := startMembers(t, dir, 4)
	conn := dial(t, members[0].url)
	for _, m := range members {
		if m.url != members[0].url {
			t.Error("two servers were started")
		}
	}
	for _, m := range members {
		m.kill()
	}
	awaitEnd(t, conn)
	awaitKeeper(t, dir)
	for _, name := range []string{"url", "data", "data.password", "data.log"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}

func TestServerThatDiedIsReplaced(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	first := startMembers(t, dir, 1)[0]
	conn := dial(t, first.url)
	killServer(t, dir)
	awaitEnd(t, conn)
	second := startMembers(t, dir, 1)[0]
	conn = dial(t, second.url)
	first.kill()
	second.kill()
	awaitEnd(t, conn)
	awaitKeeper(t, dir)
}

func killServer(t *testing.T, dir string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func TestFailedStartTellsWhy(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	if err := os.Mkdir(filepath.Join(dir, "data.lock"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := startMember(dir)
	if err == nil || !strings.Contains(err.Error(), "start the test server: lock data folder") {
		t.Errorf("error %v does not tell why", err)
	}
}
