//go:build interop

package e2e_test

import (
	"bytes"
	_ "embed"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// conformanceCatalog is a catalog with a plan for each behavior that the suite wants to see.
//
//go:embed conformance/catalog.yaml
var conformanceCatalog string

// startFixture returns when two replicas of the fixture, each on an API replica of its own, serve behind
// nginx. The fixture is the test binary of mcpfacade; see its fixture_test.go.
func startFixture(t *testing.T) *front {
	t.Helper()
	fixture := filepath.Join(t.TempDir(), "fixture")
	args := []string{"test", "-c", "-tags", "interop", "-o", fixture}
	if raceDetector {
		args = append(args, "-race")
	}
	if out, err := exec.CommandContext(t.Context(), "go", append(args, "../mcpfacade")...).CombinedOutput(); err != nil {
		t.Fatalf("build the fixture: %v\n%s", err, out)
	}
	c := newCluster(t, options{catalogText: conformanceCatalog})
	var addresses []string
	for _, api := range c.apis {
		address := freeAddress(t)
		cmd := exec.Command(fixture)
		cmd.Env = append(os.Environ(), "MCPFACADE_FIXTURE_LISTEN="+address, "MCPFACADE_FIXTURE_API=http://"+api.address,
			"GORACE=halt_on_error=1")
		launchCommand(t, "fixture on "+api.name, cmd).line(t, "fixture: ready")
		addresses = append(addresses, address)
	}
	return newFront(t, c.agent, addresses...)
}

// front stands between the suite and nginx: it adds the key, which the suite does not have.
type front struct {
	url       string
	balancer  *nginx
	upstreams []string
}

func newFront(t *testing.T, key string, upstreams ...string) *front {
	t.Helper()
	balancer := startNginx(t, upstreams...)
	target, err := url.Parse(balancer.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // The suite's check of it is one of the server's.
		r.Out.Header.Set("Authorization", "Bearer "+key)
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Read whole, or the proxy would at times cut off an answer: golang/go#40747.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read a request of the suite: %v", err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return &front{server.URL, balancer, upstreams}
}

// mustHaveUsedAll checks that each upstream has served.
func (f *front) mustHaveUsedAll(t *testing.T) {
	t.Helper()
	log, err := os.ReadFile(f.balancer.log)
	if err != nil {
		t.Fatal(err)
	}
	for _, upstream := range f.upstreams {
		if !strings.Contains(string(log), " "+upstream+"\n") {
			t.Errorf("nginx never chose %s:\n%s", upstream, log)
		}
	}
}
