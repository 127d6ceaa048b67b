// Package devpg runs a PostgreSQL server of its own: the database of `provisiond dev` and of the
// tests. It uses the binaries found on the machine and fetches them only when there are none.
//
// PostgreSQL refuses to run as root. For root the server runs as the user postgres or nobody, which
// then owns the data folder.
package devpg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// ErrInUse is returned by Start when another process runs the server of that data folder.
var ErrInUse = errors.New("the data folder is in use by another process")

// database is where provisiond keeps its tables: not "postgres", which is everyone's to connect to.
const database = "provisiond"

// Options for Start.
type Options struct {
	// DataDir keeps the data between starts. Beside it Start keeps three files of the same name:
	// .password, .log (of the last start) and .lock. Start makes it when it does not exist.
	DataDir string
	// Port on 127.0.0.1; 0 takes a free one.
	Port int
	// Settings are added to postgresql.conf's, for instance "fsync": "off" for tests.
	Settings map[string]string
	// Logger may be nil. The server's own log goes to the .log file.
	Logger *slog.Logger
}

// Server is a running PostgreSQL server. Its methods are safe for concurrent use.
type Server struct {
	url  string
	proc *process
	lock *os.File
}

// Start initialises the data folder if it is new, and returns when the server takes connections.
// It is safe against crashes: a folder is either whole or made anew, and a server left over from a
// killed process is stopped first. The context bounds the start only, not the server's life.
func Start(ctx context.Context, opts Options) (_ *Server, err error) {
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	dir, err := filepath.Abs(opts.DataDir)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	c := cluster{dir: dir, settings: opts.Settings}
	if c.account, err = serverAccount(); err != nil {
		return nil, err
	}
	if err := c.account.prepareParent(ctx, filepath.Dir(dir)); err != nil {
		return nil, err
	}
	lock, err := lockFile(dir + ".lock")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = lock.Close()
		}
	}()
	if c.bin, err = findBinaries(ctx, c.account, c.major(), log); err != nil {
		return nil, err
	}
	if err := c.stopLeftover(ctx, log); err != nil {
		return nil, err
	}
	if err := c.initialise(ctx); err != nil {
		return nil, err
	}
	proc, url, err := c.start(ctx, opts.Port)
	if err != nil {
		return nil, err
	}
	log.Info("postgresql started", "data", dir, "binaries", c.bin, "log", c.logPath())
	return &Server{url: url, proc: proc, lock: lock}, nil
}

// URL is the address of the database "provisiond" with the superuser's name and password.
func (s *Server) URL() string { return s.url }

// Done is closed when the server has ended, be it by Stop or by itself.
func (s *Server) Done() <-chan struct{} { return s.proc.done }

// Stop ends the server's sessions and the server, and returns when it is gone. When the context
// ends first, the server is killed; its data is safe, the next Start recovers it. More calls than
// one do no harm.
func (s *Server) Stop(ctx context.Context) error {
	err := s.proc.stop(ctx)
	_ = s.lock.Close() // a second Close says so, which does not matter
	return err
}

// lockFile takes the lock that keeps a second process off the folder. The kernel lets go of it when
// this process ends, however it ends.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w (lock %s)", ErrInUse, path)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// ensureDatabase makes our database on the first start.
func ensureDatabase(ctx context.Context, conn *pgx.Conn) error {
	var exists bool
	err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", database).Scan(&exists)
	if err == nil && !exists {
		_, err = conn.Exec(ctx, "CREATE DATABASE "+database)
	}
	if err != nil {
		return fmt.Errorf("make database %s: %w", database, err)
	}
	return nil
}
