package pgtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/internal/devpg"
)

// The server belongs to a keeper: a copy of the test binary that first needs it, which runs nothing
// but the server. Two locked files in the shared folder steer it, and the kernel releases a lock
// when its holder ends in whatever way:
//
//   - users: each test binary holds it shared for its whole life. Once the keeper gets it exclusively
//     nobody uses the server; holding it keeps newcomers waiting until the server has stopped.
//   - start: held while looking for the server and starting it, so that only one is started.
//
// keeperEnv is set in the keeper only, which works in the shared folder. It holds the time to linger.
const keeperEnv = "PROVISIOND_PGTEST_KEEPER"

// settings make the server fast and forgetful.
var settings = map[string]string{
	"fsync":              "off",
	"full_page_writes":   "off",
	"synchronous_commit": "off",
	"max_connections":    "300",
	"shared_buffers":     "128MB",
	"max_wal_size":       "256MB", // the data may be in memory
}

// An init, for every test binary must be able to be the keeper without a TestMain.
//
//nolint:gochecknoinits // see above
func init() {
	linger := os.Getenv(keeperEnv)
	if linger == "" {
		return
	}
	if err := keep(linger); err != nil {
		_, _ = fmt.Fprintln(os.Stdout, reportError+strings.ReplaceAll(err.Error(), "\n", " | "))
		os.Exit(1)
	}
	os.Exit(0)
}

// The keeper's one line to the binary that started it.
const (
	reportReady = "ready"
	reportError = "error: "
)

// join makes this test binary a user of the folder's server and returns the server's URL. The
// binary stays a user as long as the returned file is open. A server that has to be started will stop
// when unused for the time of linger.
func join(ctx context.Context, dir string, linger time.Duration) (string, *os.File, error) {
	users, err := lock(filepath.Join(dir, "users"), syscall.LOCK_SH)
	if err != nil {
		return "", nil, err
	}
	address, err := ensureRunning(ctx, dir, linger)
	if err != nil {
		_ = users.Close()
		return "", nil, err
	}
	return address, users, nil
}

func ensureRunning(ctx context.Context, dir string, linger time.Duration) (string, error) {
	start, err := lock(filepath.Join(dir, "start"), syscall.LOCK_EX)
	if err != nil {
		return "", err
	}
	defer start.Close() //nolint:errcheck // gives the lock back
	if address, ok := running(ctx, dir); ok {
		return address, nil
	}
	if err := startKeeper(ctx, dir, linger); err != nil {
		return "", err
	}
	address, ok := running(ctx, dir)
	if !ok {
		return "", errors.New("the test server went away as it started")
	}
	return address, nil
}

func running(ctx context.Context, dir string) (string, bool) {
	address, err := os.ReadFile(filepath.Join(dir, "url"))
	if err != nil {
		return "", false
	}
	conn, err := pgx.Connect(ctx, string(address))
	if err != nil {
		return "", false
	}
	_ = conn.Close(ctx)
	return string(address), true
}

// startKeeper returns when the server is ready. The keeper has a session of its own, so that neither
// Ctrl-C nor the end of go test ends it, and none of our files, for whose end go test waits.
func startKeeper(ctx context.Context, dir string, linger time.Duration) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the test binary: %w", err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), self)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), keeperEnv+"="+linger.String())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start the test server: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the test server: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = out.Close() })
	defer stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() { _ = cmd.Wait() }() // after the read, as it closes the pipe; reaps the keeper, should it end before us
	switch message, failed := strings.CutPrefix(strings.TrimSpace(line), reportError); {
	case failed:
		return fmt.Errorf("start the test server: %s", message)
	case message == reportReady:
		return nil
	default:
		return fmt.Errorf("start the test server: it ended without a word: %w", errors.Join(err, ctx.Err()))
	}
}

// keep runs the server until nobody uses it, and removes its data.
func keep(linger string) error {
	const data, address = "data", "url"
	idle, err := time.ParseDuration(linger)
	if err != nil {
		return err
	}
	ctx := context.Background()
	server, err := startOrRenew(ctx, data)
	if err != nil {
		return err
	}
	defer server.Stop(ctx) //nolint:errcheck // the error at hand tells more; a second call does nothing
	if err := publish(address, server.URL()); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(os.Stdout, reportReady); err != nil {
		return err
	}
	users, err := awaitUnused("users", idle, server.Done())
	if err != nil {
		return err
	}
	defer users.Close() //nolint:errcheck // gives the lock back
	return errors.Join(os.Remove(address), server.Stop(ctx), removeData(data))
}

// startOrRenew starts the server, if need be without the data that a killed keeper left: with fsync
// off it may be broken.
func startOrRenew(ctx context.Context, data string) (*devpg.Server, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for renewed := false; ; {
		server, err := devpg.Start(ctx, devpg.Options{DataDir: data, Settings: settings})
		switch {
		case err == nil:
			return server, nil
		case errors.Is(err, devpg.ErrInUse): // by a keeper whose server has died and which will follow
			select {
			case <-ctx.Done():
				return nil, err
			case <-time.After(50 * time.Millisecond):
			}
		case renewed:
			return nil, err
		default:
			renewed = true
			if err := removeData(data); err != nil {
				return nil, err
			}
		}
	}
}

func removeData(data string) error {
	return errors.Join(os.RemoveAll(data), os.RemoveAll(data+".password"), os.RemoveAll(data+".log"))
}

// publish replaces the file as a whole: readers never see half of it.
func publish(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// awaitUnused returns the exclusive lock on the users file when nobody has held it for a while. It
// tries rather than waits, for a waiting exclusive lock may hold up new users on some systems.
func awaitUnused(path string, linger time.Duration, ended <-chan struct{}) (io.Closer, error) {
	for used := time.Now(); ; {
		select {
		case <-ended:
			return nil, errors.New("the test server ended by itself")
		case <-time.After(time.Second):
		}
		users, err := lock(path, syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			used = time.Now()
		case err != nil:
			return nil, err
		case time.Since(used) >= linger:
			return users, nil
		default:
			_ = users.Close()
		}
	}
}

func lock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EINTR) { // the runtime's own signals interrupt a wait
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}
