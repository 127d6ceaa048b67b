package e2e_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/provisiond/provisiond/client"
)

func TestDrainingReplicaAnswersItsLongPollsEarlyAndWell(t *testing.T) {
	t.Parallel()
	admin := freeAddress(t)
	c := newCluster(t, options{apis: 1, workers: -1, env: map[string]string{"PROVISIOND_ADMIN_LISTEN": admin}})
	accepted := start(t, c.sdk(t), request("sandbox", "instant", nil))
	replica := c.apis[0]
	base := "http://" + c.balancer.addressOf(replica)
	const polls = 20
	answers := make([]response, polls)
	var waiting sync.WaitGroup
	for i := range polls {
		waiting.Go(func() {
			var err error
			if answers[i], err = c.try(t, base, http.MethodGet, "/v1/jobs/"+accepted.JobID+"?wait=25", "", nil); err != nil {
				t.Errorf("long poll: %v", err)
			}
		})
	}
	eventually(t, "the polls hang", func() bool { return waiters(t, admin) == polls })
	replica.terminate(t)
	waiting.Wait()
	for _, resp := range answers {
		if resp.status != http.StatusOK || resp.header.Get("Etag") == "" {
			t.Errorf("long poll: %s", resp)
		}
	}
}

func TestRollingRestartFailsNoRequest(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{env: map[string]string{"PROVISIOND_DRAIN_DELAY": "2s"}})
	c.balancer.watch(t)
	// No repeats: each request has one chance.
	sdk := c.sdk(t, client.WithMaxTries(1))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var load sync.WaitGroup
	for range 3 {
		load.Go(func() {
			for ctx.Err() == nil {
				oneLife(t, sdk)
			}
		})
	}
	for i := range c.apis {
		node := []*replica{c.apis[i], c.workers[i]}
		inParallel(len(node), func(i int) { node[i].terminate(t) })
		for _, r := range node {
			r.start(t)
		}
		eventually(t, "the balancer sends to "+c.apis[i].name, func() bool { return !c.balancer.isUnready(c.apis[i]) })
	}
	stop()
	load.Wait()
	for _, s := range c.balancer.served() {
		if s.status < 200 || s.status > 299 {
			t.Errorf("%s: status %d", s.request, s.status)
		}
	}
}

// oneLife makes and removes an instance.
func oneLife(t *testing.T, sdk *client.SDK) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	accepted, err := sdk.Start(ctx, tunable(object{"duration": "100ms"}))
	if err != nil {
		t.Errorf("start: %v", err)
		return
	}
	if _, err := sdk.WaitDone(ctx, accepted.JobID, nil); err != nil {
		t.Errorf("wait: %v", err)
		return
	}
	deleted, err := sdk.Deprovision(ctx, accepted.InstanceID)
	if err != nil {
		t.Errorf("delete: %v", err)
		return
	}
	if _, err := sdk.WaitDone(ctx, deleted.JobID, nil); err != nil {
		t.Errorf("wait: %v", err)
	}
}

func TestTerminatedWorkerReleasesItsJobAtOnce(t *testing.T) {
	t.Parallel()
	// With the default grace the job would come to its end first.
	c := prepareCluster(t, options{env: map[string]string{"PROVISIOND_LEASE": "1h", "PROVISIOND_SHUTDOWN_GRACE": "1s"}})
	for _, r := range c.apis {
		r.start(t)
	}
	c.makeKeys(t)
	sdk := c.sdk(t)
	first, second := c.workers[0], c.workers[1]
	first.start(t)
	lock, err := c.db.Begin(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Rollback(context.Background()) //nolint:errcheck // ends the lock in any case
	// The driver hangs where it makes the object.
	if _, err := lock.Exec(patient(t), `LOCK TABLE sandbox_object IN SHARE MODE`); err != nil {
		t.Fatal(err)
	}
	accepted := start(t, sdk, request("sandbox", "instant", nil))
	eventually(t, "the driver makes the object", func() bool { return c.lockWaiter(t, makeObject) != 0 })
	first.terminate(t)
	if err := lock.Rollback(patient(t)); err != nil {
		t.Fatal(err)
	}
	second.start(t)
	// A lease of an hour cannot have lapsed.
	waitJob(t, sdk, accepted.JobID, client.JobStateSucceeded)
	c.mustHaveOne(t, "sandbox", accepted.InstanceID)
	if !c.hasEvent(t, accepted.JobID, "job.released") {
		t.Error("the job was not released")
	}
}

// waiters counts the calls that wait for a job in the replica, by its profile of goroutines.
func waiters(t *testing.T, adminAddress string) int {
	t.Helper()
	resp, err := http.Get("http://" + adminAddress + "/debug/pprof/goroutine?debug=1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	profile, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	// One paragraph for each stack: "3 @ 0x4…", and its functions.
	for stack := range strings.SplitSeq(string(profile), "\n\n") {
		if strings.Contains(stack, "jobs.(*Service).Wait+") {
			count, _, _ := strings.Cut(stack, " @")
			n, _ := strconv.Atoi(count)
			total += n
		}
	}
	return total
}

// freeAddress is one that nothing listens at just now.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
