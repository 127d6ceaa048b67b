package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/client"
	"github.com/provisiond/provisiond/internal/pgtest"
	"github.com/provisiond/provisiond/jobs/catalog"
)

// cluster is a deployment: a database, and replicas behind a balancer.
type cluster struct {
	options

	t        *testing.T // the test whose end is the cluster's
	dir      string
	catalog  string // file
	keyset   string // file
	flags    []string
	db       *pgxpool.Pool
	balancer *balancer
	apis     []*replica
	workers  []*replica
	agent    string // API keys of one tenant
	person   string
}

// options of a cluster. The zero value is two API replicas and two workers on a database of their own.
type options struct {
	databaseURL string            // migrated; by default a new one
	adminURL    string            // of the server that the service postgres makes databases on
	catalogText string            // by default the built-in one
	env         map[string]string // on top of the cluster's own
	apis        int
	workers     int // -1 for none
}

// newCluster returns when all replicas are ready.
func newCluster(t *testing.T, o options) *cluster {
	t.Helper()
	c := prepareCluster(t, o)
	for _, r := range c.replicas() {
		r.launch(t)
	}
	c.makeKeys(t)
	for _, r := range c.replicas() {
		r.awaitReady(t)
	}
	return c
}

// prepareCluster makes everything but the processes.
func prepareCluster(t *testing.T, o options) *cluster {
	t.Helper()
	c := &cluster{options: o, t: t, dir: t.TempDir(), balancer: newBalancer(t)}
	if c.databaseURL == "" {
		c.databaseURL = withFewConnections(pgtest.URL(t))
	}
	if c.adminURL == "" {
		c.adminURL = pgtest.AdminURL(t)
	}
	if c.catalogText == "" {
		c.catalogText = string(catalog.Builtin())
	}
	c.catalog, c.keyset = filepath.Join(c.dir, "catalog.yaml"), filepath.Join(c.dir, "keyset.json")
	c.writeCatalog(t, c.catalogText)
	c.connect(t)
	c.dropDatabasesAtEnd(t)
	c.explainFailure(t)
	command(t, c.environ(), "keyset", "create")
	c.addReplicas("api", orTwo(o.apis), &c.apis)
	c.addReplicas("worker", orTwo(o.workers), &c.workers)
	for _, r := range c.apis {
		c.balancer.add(r)
	}
	return c
}

func orTwo(n int) int {
	switch {
	case n == 0:
		return 2
	case n < 0:
		return 0
	}
	return n
}

// withFewConnections keeps many clusters below the test server's limit.
func withFewConnections(url string) string {
	separator := "?"
	if strings.Contains(url, "?") {
		separator = "&"
	}
	return url + separator + "pool_max_conns=8"
}

func (c *cluster) addReplicas(role string, n int, to *[]*replica) {
	for i := range n {
		*to = append(*to, &replica{cluster: c, role: role, name: fmt.Sprintf("%s %c", role, 'A'+i)})
	}
}

func (c *cluster) replicas() []*replica { return append(append([]*replica{}, c.apis...), c.workers...) }

func (c *cluster) writeCatalog(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(c.catalog, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// connect opens the test's own view into the database.
func (c *cluster) connect(t *testing.T) {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), c.databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	c.db = pool
}

// makeKeys makes a tenant with a key for an agent, who may read credentials, and one for a person.
func (c *cluster) makeKeys(t *testing.T) {
	t.Helper()
	command(t, c.environ(), "tenants", "create", "shop")
	var wg sync.WaitGroup
	wg.Go(func() {
		c.agent = command(t, c.environ(), "keys", "create", "--tenant", "shop", "--kind", "agent", "--scope",
			"services:read,instances:read,instances:write,jobs:read,questions:answer,credentials:read")
	})
	wg.Go(func() { c.person = command(t, c.environ(), "keys", "create", "--tenant", "shop", "--kind", "person") })
	wg.Wait()
}

// sdk is a client of the whole cluster with the agent's key.
func (c *cluster) sdk(t *testing.T, opts ...client.Option) *client.SDK {
	t.Helper()
	return newSDK(t, c.balancer.URL, c.agent, opts...)
}

func newSDK(t *testing.T, url, key string, opts ...client.Option) *client.SDK {
	t.Helper()
	sdk, err := client.New(url, key, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return sdk
}

// dropDatabasesAtEnd removes what the service postgres made for jobs that the test left unfinished.
func (c *cluster) dropDatabasesAtEnd(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		rows, err := c.db.Query(ctx, `SELECT id FROM instance WHERE driver = 'postgres'`)
		if err != nil {
			return // the test took the database or its tables away
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Errorf("list instances: %v", err)
			return
		}
		c.dropDatabases(ctx, t, ids)
	})
}

func (c *cluster) dropDatabases(ctx context.Context, t *testing.T, instanceIDs []string) {
	t.Helper()
	admin, err := pgx.Connect(ctx, c.adminURL)
	if err != nil {
		t.Errorf("connect as administrator: %v", err)
		return
	}
	defer admin.Close(ctx)
	for _, id := range instanceIDs {
		outside, err := findOutside(ctx, admin, id)
		if err != nil {
			t.Errorf("look for what is left: %v", err)
			return
		}
		for range outside.databases {
			_, err = admin.Exec(ctx, `DROP DATABASE `+outside.name+` WITH (FORCE)`)
		}
		for _, role := range outside.roles {
			_, dropErr := admin.Exec(ctx, `DROP ROLE `+role)
			if err == nil {
				err = dropErr
			}
		}
		if err != nil {
			t.Errorf("drop what is left of %s: %v", id, err)
		}
	}
}
