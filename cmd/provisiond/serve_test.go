package main

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provisiond/provisiond/internal/pgtest"
)

// forServe is the environment of a replica on the database, on ports of its own.
func forServe(t *testing.T, databaseURL string) map[string]string {
	t.Helper()
	keyset := filepath.Join(t.TempDir(), "keyset.json")
	if err := createKeyset(keyset); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"PROVISIOND_DATABASE_URL": databaseURL,
		"PROVISIOND_KEYSET_FILE":  keyset,
		"PROVISIOND_CATALOG":      writeFile(t, "catalog.yaml", goodCatalog),
		"PROVISIOND_LISTEN":       "127.0.0.1:0",
		"PROVISIOND_ADMIN_LISTEN": "127.0.0.1:0",
		"PROVISIOND_DRAIN_DELAY":  "0s",
		"ADMIN_URL":               "postgres://host/db",
	}
}

var listenAttribute = regexp.MustCompile(`msg=ready role=\w+ listen=(\S+) admin_listen=(\S+)`)

// awaitReady returns the base URLs of the API and of the admin server.
func (s *started) awaitReady(t *testing.T) (api, admin string) {
	t.Helper()
	match := listenAttribute.FindStringSubmatch(s.await(t, &s.stderr, "version="))
	if match == nil {
		t.Fatalf("no line tells that it is ready: %s", s.stderr.String())
	}
	return "http://" + match[1], "http://" + match[2]
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

func TestServe(t *testing.T) {
	t.Parallel()
	for role, services := range map[string]int{
		roleAll: http.StatusUnauthorized, roleAPI: http.StatusUnauthorized, roleWorker: http.StatusNotFound,
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			s := start(t, forServe(t, pgtest.URL(t)), "serve", "--role", role)
			api, admin := s.awaitReady(t)
			for url, want := range map[string]int{
				api + "/health/live": http.StatusOK, api + "/health/ready": http.StatusOK,
				api + "/v1/services": services,
				admin + "/metrics":   http.StatusOK, admin + "/debug/pprof/cmdline": http.StatusOK,
			} {
				if got, body := get(t, url); got != want {
					t.Errorf("GET %s: %d, want %d: %s", url, got, want, body)
				}
			}
			if code := s.end(); code != exitDone {
				t.Errorf("a signal ended it with %d: %s", code, s.stderr.String())
			}
		})
	}
}

func TestServeOnADatabaseThatIsBehind(t *testing.T) {
	t.Parallel()
	vars := forServe(t, pgtest.EmptyURL(t))
	got := runCommand(t, vars, "serve")
	if got.code != exitFailed || !strings.Contains(got.stderr, "provisiond migrate up") {
		t.Errorf("exit code %d with %q, want %d and the command to run", got.code, got.stderr, exitFailed)
	}
	s := start(t, vars, "serve", "--migrate")
	s.awaitReady(t)
}

func TestServeOnATakenPort(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	vars := forServe(t, pgtest.URL(t))
	vars["PROVISIOND_ADMIN_LISTEN"] = taken.Addr().String()
	runCommand(t, vars, "serve").expect(t, exitFailed, "provisiond: --admin-listen (PROVISIOND_ADMIN_LISTEN): listen tcp "+
		taken.Addr().String()+": bind: address already in use")
}

func TestServeWithoutItsDatabase(t *testing.T) {
	t.Parallel()
	gate := newGate(t, pgtest.URL(t))
	gate.close()
	vars := forServe(t, gate.url)
	got := runCommand(t, vars, "serve", "--startup-timeout=0s")
	if got.code != exitFailed || !strings.Contains(got.stderr, "did not answer within --startup-timeout") {
		t.Errorf("exit code %d with %q, want %d and the reason", got.code, got.stderr, exitFailed)
	}

	s := start(t, vars, "serve")
	s.await(t, &s.stderr, "the database does not answer yet")
	gate.open(t)
	api, _ := s.awaitReady(t)

	gate.close()
	awaitStatus(t, api+"/health/ready", http.StatusServiceUnavailable)
	if got, _ := get(t, api+"/health/live"); got != http.StatusOK {
		t.Errorf("live answers %d while the database is away, want 200", got)
	}
	gate.open(t)
	awaitStatus(t, api+"/health/ready", http.StatusOK)
}

// awaitStatus asks again until the status is as wanted; nothing else tells of it.
func awaitStatus(t *testing.T, url string, want int) {
	t.Helper()
	for {
		if got, _ := get(t, url); got == want {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("GET %s never was %d", url, want)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// gate stands before a database and can be closed to it.
type gate struct {
	url, address, server string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

func newGate(t *testing.T, databaseURL string) *gate {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{server: u.Host, address: "127.0.0.1:0"}
	g.open(t)
	u.Host, g.address = g.listener.Addr().String(), g.listener.Addr().String()
	g.url = u.String()
	t.Cleanup(g.close)
	return g
}

func (g *gate) open(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", g.address)
	if err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listener = listener
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed
			}
			g.join(client)
		}
	}()
}

// join passes on what either side sends until one ends.
func (g *gate) join(client net.Conn) {
	server, err := net.Dial("tcp", g.server)
	if err != nil {
		_ = client.Close()
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns = append(g.conns, client, server)
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			_ = pair[0].Close()
		}()
	}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.listener.Close()
	for _, conn := range g.conns {
		_ = conn.Close()
	}
	g.conns = nil
}
