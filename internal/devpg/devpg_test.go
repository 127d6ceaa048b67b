package devpg

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestDataOutlivesTheServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(tempDir(t), "new", "data")
	first := start(t, Options{DataDir: dir})
	execSQL(t, first.URL(), "CREATE TABLE kept ()")
	pid := first.proc.cmd.Process.Pid
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if alive(pid) {
		t.Error("the server lives on after Stop")
	}
	if err := first.Stop(t.Context()); err != nil {
		t.Errorf("second Stop: %v", err)
	}
	second := start(t, Options{DataDir: dir})
	execSQL(t, second.URL(), "SELECT FROM kept")
}

func TestStopEndsSessions(t *testing.T) {
	t.Parallel()
	server := start(t, Options{DataDir: filepath.Join(tempDir(t), "data")})
	execSQL(t, server.URL(), "BEGIN") // leaves its connection open
	if err := server.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStopWithEndedContextKillsTheServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(tempDir(t), "data")
	server := start(t, Options{DataDir: dir})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := server.Stop(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	start(t, Options{DataDir: dir})
}

func TestSettingsAndPort(t *testing.T) {
	t.Parallel()
	port, err := freePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server := start(t, Options{
		DataDir:  filepath.Join(tempDir(t), "data"),
		Port:     int(port),
		Settings: map[string]string{"fsync": "off", "application_name": "with a space"},
	})
	conn := connect(t, server.URL())
	var name, user, encoding string
	err = conn.QueryRow(t.Context(), `SELECT reset_val, current_user, pg_encoding_to_char(encoding)
		FROM pg_settings, pg_database WHERE name = 'application_name' AND datname = current_database()`).Scan(&name, &user, &encoding)
	if err != nil {
		t.Fatal(err)
	}
	if got := conn.Config().Port; got != port || name != "with a space" || user != superuser || encoding != "UTF8" {
		t.Errorf("port %d, application_name %q, user %q, encoding %q", got, name, user, encoding)
	}
}

func TestPasswordIsNeeded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(tempDir(t), "data")
	server := start(t, Options{DataDir: dir})
	config, err := pgx.ParseConfig(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	config.Password = "guess"
	if _, err := pgx.ConnectConfig(t.Context(), config); !isWrongPassword(err) {
		t.Errorf("error %v, want a wrong password", err)
	}
	info, err := os.Stat(dir + ".password")
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("password file has mode %v", info.Mode())
	}
}

func TestSecondStartIsRefused(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(tempDir(t), "data")
	first := start(t, Options{DataDir: dir})
	if _, err := Start(t.Context(), Options{DataDir: dir}); !errors.Is(err, ErrInUse) {
		t.Errorf("error %v, want ErrInUse", err)
	}
	execSQL(t, first.URL(), "SELECT 1")
}

func TestTakenPort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = Start(t.Context(), Options{
		DataDir: filepath.Join(tempDir(t), "data"), Port: l.Addr().(*net.TCPAddr).Port, Settings: fast,
	})
	if !errors.Is(err, errEnded) || !strings.Contains(err.Error(), "Address already in use") {
		t.Errorf("error %v does not tell that the address is in use", err)
	}
}

// A crash of the server itself, for instance by the kernel's out-of-memory killer.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(tempDir(t), "data")
	first := start(t, Options{DataDir: dir})
	execSQL(t, first.URL(), "CREATE TABLE kept ()")
	if err := first.proc.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-first.Done()
	if err := first.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	second := start(t, Options{DataDir: dir})
	execSQL(t, second.URL(), "SELECT FROM kept")
}

// The guard stops the server when our process is killed.
func TestProcessKilled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(tempDir(t), "data")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	holder := exec.CommandContext(t.Context(), self)
	holder.Env = append(os.Environ(), holdEnv+"="+dir)
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	conn := connect(t, strings.TrimSpace(url))
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // tells that it was killed
	if _, err := conn.WaitForNotification(t.Context()); err == nil || t.Context().Err() != nil {
		t.Errorf("error %v, want the end of the session", err)
	}
	start(t, Options{DataDir: dir})
}

// Guard and process may be killed together.
func TestLeftoverServerIsStopped(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(tempDir(t), "data")
	left := start(t, Options{DataDir: dir})
	execSQL(t, left.URL(), "CREATE TABLE kept ()")
	_ = left.lock.Close() // as the kernel does
	next := start(t, Options{DataDir: dir})
	<-left.Done()
	execSQL(t, next.URL(), "SELECT FROM kept")
}

// After a reboot the number in postmaster.pid may be that of any process.
func TestStalePidOfAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(tempDir(t), "data")
	first := start(t, Options{DataDir: dir})
	pidFile := filepath.Join(dir, "postmaster.pid")
	content, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	account, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	other := account.command(exec.Command("/bin/sh", "-c", "read -r _"))
	stdin, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(content), "\n")
	if err := os.WriteFile(pidFile, []byte(strconv.Itoa(other.Process.Pid)+"\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, Options{DataDir: dir})
	if !alive(other.Process.Pid) {
		t.Error("the other process was ended")
	}
	_ = stdin.Close()
	_ = other.Wait() // sh says 1 at the end of its input
}

func TestStartWithin(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if _, err := Start(ctx, Options{DataDir: filepath.Join(tempDir(t), "data")}); err == nil {
		t.Error("no error")
	}
}

func TestTerminalSignalsDoNotReachTheServer(t *testing.T) {
	t.Parallel()
	server := start(t, Options{DataDir: filepath.Join(tempDir(t), "data")})
	for _, pid := range []int{server.proc.cmd.Process.Pid, server.proc.guard.cmd.Process.Pid} {
		if group, err := syscall.Getpgid(pid); err != nil || group == syscall.Getpgrp() {
			t.Errorf("process %d: group %d is the terminal's too, error %v", pid, group, err)
		}
	}
}
