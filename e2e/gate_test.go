package e2e_test

import (
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/client"
	"github.com/provisiond/provisiond/jobs/catalog"
)

// gate stands before a server: shut, it breaks every connection; open, it passes them on.
type gate struct {
	net.Listener
	open    atomic.Bool
	refused atomic.Int64
	passed  atomic.Int64
}

func newGate(t *testing.T, server string) *gate {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	g := &gate{Listener: listener}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if !g.open.Load() {
				g.refused.Add(1)
				_ = conn.Close()
				continue
			}
			g.passed.Add(1)
			go pass(conn, server)
		}
	}()
	return g
}

// pass copies both ways until one side ends.
func pass(conn net.Conn, server string) {
	defer conn.Close()
	back, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer back.Close()
	go func() {
		_, _ = io.Copy(back, conn)
		_ = back.Close()
	}()
	_, _ = io.Copy(conn, back)
}

func TestJobSucceedsOnlyAfterItsCredentialsHaveLoggedIn(t *testing.T) {
	t.Parallel()
	c := prepareCluster(t, options{apis: 1, workers: 1})
	config, err := pgx.ParseConfig(c.adminURL)
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t, net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))))
	host, port, _ := net.SplitHostPort(g.Addr().String())
	adminURL := `admin_url: "${PROVISIOND_POSTGRES_ADMIN_URL}"`
	c.writeCatalog(t, strings.Replace(string(catalog.Builtin()), adminURL,
		adminURL+"\n      public_host: "+host+"\n      public_port: "+port, 1))
	c.makeKeys(t)
	c.startAll(t)

	sdk := c.sdk(t)
	accepted := start(t, sdk, smallDatabase())
	eventually(t, "a login is tried", func() bool { return g.refused.Load() > 0 })
	eventually(t, "the job shows that it tries again", func() bool {
		return getJob(t, sdk, accepted.JobID).Progress.Step == "retry"
	})
	g.open.Store(true)
	job := waitJob(t, sdk, accepted.JobID, client.JobStateSucceeded)
	if g.passed.Load() == 0 {
		t.Error("the job succeeded without a login")
	}
	useDatabase(t, credentials(t, sdk, job))
	c.mustHaveOne(t, "postgres", job.InstanceID)
}
