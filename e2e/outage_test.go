package e2e_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/provisiond/provisiond/client"
	"github.com/provisiond/provisiond/internal/devpg"
	"github.com/provisiond/provisiond/internal/pgtest/memdir"
)

// openFolder is t.TempDir that the database server's user can get into when we are root.
func openFolder(t *testing.T) string {
	t.Helper()
	//nolint:usetesting // this is about t.TempDir, which is closed to that user
	dir, err := os.MkdirTemp(memdir.Path(), "provisiond-e2e-")
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

// server is a PostgreSQL server that the test may stop.
type server struct {
	*devpg.Server

	options devpg.Options
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{options: devpg.Options{
		DataDir: filepath.Join(openFolder(t), "data"), Settings: map[string]string{"fsync": "off", "max_connections": "50"},
	}}
	s.start(t)
	address, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	// The same port from now on.
	if s.options.Port, err = strconv.Atoi(address.Port()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func (s *server) start(t *testing.T) {
	t.Helper()
	var err error
	if s.Server, err = devpg.Start(t.Context(), s.options); err != nil {
		t.Fatal(err)
	}
}

func TestStoppedDatabaseIsSaidAndLosesNoJob(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := prepareCluster(t, options{databaseURL: withFewConnections(s.URL()), env: shortLease})
	command(t, c.environ(), "migrate", "up")
	c.makeKeys(t)
	c.startAll(t)
	sdk := c.sdk(t)
	jobs := []*client.Accepted{
		start(t, sdk, tunable(object{"duration": "900ms"})),
		start(t, sdk, tunable(object{"duration": "3s", "steps": 3})),
		start(t, sdk, tunable(object{"questions": []object{colour("colour", 1)}})),
	}
	asked := waitJob(t, sdk, jobs[2].JobID, client.JobStateAwaitingInput)

	if err := s.Stop(patient(t)); err != nil {
		t.Fatal(err)
	}
	for _, r := range c.apis {
		base := "http://" + c.balancer.addressOf(r)
		for _, request := range []string{"GET /v1/jobs/" + asked.ID, "GET /v1/instances", "POST /v1/instances"} {
			method, path, _ := strings.Cut(request, " ")
			body := ""
			if method == http.MethodPost {
				body = `{"service": "sandbox", "plan": "instant"}`
			}
			resp, err := c.try(t, base, method, path, body, nil)
			if err != nil || resp.status != http.StatusServiceUnavailable || resp.header.Get("Retry-After") == "" ||
				resp.header.Get("Content-Type") != "application/problem+json" || !strings.Contains(resp.body, `"unavailable"`) {
				t.Errorf("%s without a database: %v %s %v", request, err, resp, resp.header)
			}
		}
		if resp, err := c.try(t, base, http.MethodGet, "/health/ready", "", nil); err != nil || resp.status != http.StatusServiceUnavailable {
			t.Errorf("ready without a database: %v %s", err, resp)
		}
		if resp, err := c.try(t, base, http.MethodGet, "/health/live", "", nil); err != nil || resp.status != http.StatusOK {
			t.Errorf("live without a database: %v %s", err, resp)
		}
	}

	s.start(t)
	for _, r := range c.replicas() {
		eventually(t, r.name+" is ready again", func() bool { return isReady(t.Context(), c.balancer.addressOf(r)) })
	}
	answer(t, sdk, asked, "colour", object{"colour": "red"})
	for _, accepted := range jobs {
		waitJob(t, sdk, accepted.JobID, client.JobStateSucceeded)
		c.mustHaveOne(t, "sandbox", accepted.InstanceID)
	}
	for _, r := range c.replicas() {
		r.terminate(t)
	}
}
