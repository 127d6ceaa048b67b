package e2e_test

import (
	"encoding/json"
	"maps"
	"slices"
	"syscall"
	"testing"
)

// replica is one provisiond serve. It can be started again after its end, then with another port.
type replica struct {
	*process

	cluster *cluster
	name    string
	role    string
	// address of its listener. The balancer's lock guards it, and unready.
	address string
	unready bool
}

// start runs the replica and returns when it is ready.
func (r *replica) start(t *testing.T) {
	t.Helper()
	r.launch(t)
	r.awaitReady(t)
}

// launch runs the replica without waiting for it. It lasts as long as the cluster's test, of which t
// may be a part.
func (r *replica) launch(t *testing.T) {
	t.Helper()
	r.process = launch(r.cluster.t, r.name, r.cluster.environ(), append([]string{"serve", "--role", r.role}, r.cluster.flags...)...)
}

// awaitReady returns when the replica serves.
func (r *replica) awaitReady(t *testing.T) {
	t.Helper()
	var line struct{ Listen string }
	if err := json.Unmarshal([]byte(r.line(t, `"msg":"ready"`)), &line); err != nil {
		t.Fatalf("%s: log line ready: %v", r.name, err)
	}
	r.cluster.balancer.setAddress(r, line.Listen)
	eventually(t, r.name+" is ready", func() bool { return isReady(t.Context(), line.Listen) })
}

// stop freezes the replica until cont.
func (r *replica) stop() { r.signal(syscall.SIGSTOP) }
func (r *replica) cont() { r.signal(syscall.SIGCONT) }

// environ is the environment of every provisiond of the cluster.
func (c *cluster) environ() []string {
	env := map[string]string{
		"PATH":                          "/usr/bin:/bin",
		"PROVISIOND_DATABASE_URL":       c.databaseURL,
		"PROVISIOND_CATALOG":            c.catalog,
		"PROVISIOND_KEYSET_FILE":        c.keyset,
		"PROVISIOND_POSTGRES_ADMIN_URL": c.adminURL,
		"PROVISIOND_LOG_FORMAT":         "json",
		"PROVISIOND_LISTEN":             "127.0.0.1:0",
		"PROVISIOND_ADMIN_LISTEN":       "127.0.0.1:0",
		"PROVISIOND_PUBLIC_URL":         c.balancer.URL,
		"PROVISIOND_LEASE":              "3s",
		"PROVISIOND_SWEEP":              "200ms",
		"PROVISIOND_DRAIN_DELAY":        "0s",
		// A data race ends the process, so that no test passes over it.
		"GORACE": "halt_on_error=1",
	}
	maps.Copy(env, c.env)
	var list []string
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}
