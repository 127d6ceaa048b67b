package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// server is the shared PostgreSQL as seen by this test binary.
type server struct {
	url    string
	parsed *url.URL
	admin  *pgxpool.Pool
	// cloneOptions make CREATE DATABASE faster where the server knows them.
	cloneOptions string
	// users is the locked file that keeps the server running; nil for another server than ours.
	users *os.File
}

// linger is how long the server outlives its last user: go test may need that long to build the next
// package.
const linger = 30 * time.Second

// theServer and theSharedPool last as long as the test binary: its end closes their connections.
var (
	theServer = sync.OnceValues(func() (*server, error) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		if address := os.Getenv("PROVISIOND_TEST_DATABASE_URL"); address != "" {
			return newServer(ctx, address, nil)
		}
		dir, err := sharedFolder()
		if err != nil {
			return nil, err
		}
		address, users, err := join(ctx, dir, linger)
		if err != nil {
			return nil, err
		}
		return newServer(ctx, address, users)
	})
	theSharedPool = sync.OnceValues(func() (*pgxpool.Pool, error) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		s, err := theServer()
		if err != nil {
			return nil, err
		}
		name, err := s.shared(ctx)
		if err != nil {
			return nil, err
		}
		return newPool(ctx, s.databaseURL(name), maxConns)
	})
)

func newServer(ctx context.Context, address string, users *os.File) (*server, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("PROVISIOND_TEST_DATABASE_URL is not a URL") // url.Parse's error shows the password
	}
	s := &server{url: address, parsed: parsed, users: users}
	if s.admin, err = newPool(ctx, address, 4); err != nil {
		return nil, err
	}
	var version int
	err = s.admin.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version)
	if err != nil {
		return nil, fmt.Errorf("connect to the test server: %w", err)
	}
	if version >= 15_00_00 {
		s.cloneOptions = " STRATEGY file_copy"
	}
	return s, nil
}

func newPool(ctx context.Context, address string, maxConns int32) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("test database URL: %w", err)
	}
	config.MaxConns = maxConns
	return pgxpool.NewWithConfig(ctx, config)
}
