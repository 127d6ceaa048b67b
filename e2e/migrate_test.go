package e2e_test

import (
	"strings"
	"testing"

	"github.com/provisiond/provisiond/client"
	"github.com/provisiond/provisiond/internal/pgtest"
)

func TestAllProcessesMigrateAnEmptyDatabaseAtOnce(t *testing.T) {
	t.Parallel()
	c := prepareCluster(t, options{
		databaseURL: withFewConnections(pgtest.EmptyURL(t)), env: map[string]string{"PROVISIOND_MIGRATE": "true"},
	})
	c.startAll(t)
	if status := command(t, c.environ(), "migrate", "status"); strings.Contains(strings.ToLower(status), "pending") {
		t.Errorf("migrations are left:\n%s", status)
	}
	c.makeKeys(t)
	sdk := c.sdk(t)
	accepted := start(t, sdk, request("sandbox", "instant", nil))
	waitJob(t, sdk, accepted.JobID, client.JobStateSucceeded)
	c.mustHaveOne(t, "sandbox", accepted.InstanceID)
}

func TestServeRefusesADatabaseWithoutTables(t *testing.T) {
	t.Parallel()
	c := prepareCluster(t, options{databaseURL: pgtest.EmptyURL(t), apis: 1, workers: -1})
	p := launch(t, "api", c.environ(), "serve", "--role", "api")
	p.line(t, "migrate")
	if p.await(t); p.cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("exit: %v, want status 1", p.err)
	}
}
