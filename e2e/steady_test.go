package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/provisiond/provisiond/client"
)

// TestOnTwoReplicas has what disturbs no process, so that one cluster is enough for all of it.
func TestOnTwoReplicas(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{})
	for name, test := range map[string]func(*testing.T, *cluster){
		"equal starts with a key make one job":  equalStartsWithKey,
		"equal starts with a name make one job": equalStartsWithName,
		"SDK survives a bad balancer":           sdkSurvivesBadBalancer,
		"job is readable elsewhere at once":     readableElsewhereAtOnce,
		"question that is seen can be answered": seenIsAnswerable,
		"lost job is found again":               foundAgain,
		"bad IDs are refused":                   badIDs,
		"body over the limit is refused":        bodyOverLimit,
		"waiting job comes to an end":           waitingJobEnds,
		"delete during create":                  deleteDuringCreate,
		"each state can be canceled":            eachStateCancels,
		"no outside call after canceled":        noCallAfterCanceled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, c)
		})
	}
}

// anotherBalancer stands before the same replicas, so that a test can misuse it alone.
func (c *cluster) anotherBalancer(t *testing.T) *balancer {
	t.Helper()
	b := newBalancer(t)
	for _, r := range c.apis {
		b.add(&replica{address: c.balancer.addressOf(r)})
	}
	return b
}

// sdkOf is a client of one replica.
func (c *cluster) sdkOf(t *testing.T, api int) *client.SDK {
	t.Helper()
	return newSDK(t, "http://"+c.balancer.addressOf(c.apis[api%len(c.apis)]), c.agent)
}

func equalStartsWithKey(t *testing.T, c *cluster) {
	c.startHundredTimes(t, smallDatabase(), client.WithIdempotencyKey("hundred-times"))
}

func equalStartsWithName(t *testing.T, c *cluster) {
	r, name := request("sandbox", "instant", nil), "hundred-times"
	r.Name = &name
	c.startHundredTimes(t, r)
}

// startHundredTimes sends equal starts whose answers are all lost, and then the same again.
func (c *cluster) startHundredTimes(t *testing.T, r client.StartRequest, editors ...client.RequestEditorFn) {
	t.Helper()
	b := c.anotherBalancer(t)
	once, again := newSDK(t, b.URL, c.agent, client.WithMaxTries(1)), newSDK(t, b.URL, c.agent)
	b.misbehave(func(*http.Request) fault { return fault{drop: true} })
	inParallel(100, func(int) {
		if _, err := once.Start(patient(t), r, editors...); err == nil {
			t.Error("an answer got through that was to be lost")
		}
	})
	b.misbehave(nil)
	ids := make([]string, 100)
	instances := make([]string, 100)
	inParallel(100, func(i int) {
		accepted, err := again.Start(patient(t), r, editors...)
		if err != nil {
			t.Errorf("start again: %v", err)
			return
		}
		ids[i], instances[i] = accepted.JobID, accepted.InstanceID
	})
	if slices.Sort(ids); len(slices.Compact(ids)) != 1 {
		t.Fatalf("more than one job: %q", slices.Compact(ids))
	}
	waitJob(t, c.sdk(t), ids[0], client.JobStateSucceeded)
	c.mustHaveOne(t, r.Service, instances[0])
	replicas := map[int]bool{}
	for _, s := range b.served() {
		replicas[s.replica] = true
	}
	if len(replicas) != len(c.apis) {
		t.Errorf("served by replicas %v only", replicas)
	}
}

func inParallel(n int, do func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

func sdkSurvivesBadBalancer(t *testing.T, c *cluster) {
	b := c.anotherBalancer(t)
	// Two faults before each good answer.
	plan := []fault{
		{status: http.StatusTooManyRequests}, {drop: true}, {},
		{status: http.StatusBadGateway}, {reset: true}, {},
		{status: http.StatusServiceUnavailable}, {status: http.StatusGatewayTimeout}, {},
	}
	var n atomic.Int64
	b.misbehave(func(*http.Request) fault { return plan[int(n.Add(1)-1)%len(plan)] })
	sdk := newSDK(t, b.URL, c.agent)
	accepted := start(t, sdk, tunable(object{"duration": "2s", "questions": []object{colour("colour", 0)}}))
	finished, err := sdk.WaitDone(patient(t), accepted.JobID, func(_ context.Context, q client.Question) (*client.AnswerRequest, error) {
		return &client.AnswerRequest{Action: client.Accept, Content: &object{q.Name: "red"}}, nil
	})
	if err != nil {
		t.Fatalf("wait: %v", err)
	}
	credentials(t, sdk, &finished.Job)
	c.mustHaveOne(t, "sandbox", accepted.InstanceID)
	deleted := deprovision(t, sdk, accepted.InstanceID)
	waitJob(t, sdk, deleted.JobID, client.JobStateSucceeded)

	keys, tries := map[string]string{}, map[string]int{}
	for _, s := range b.served() {
		if strings.HasPrefix(s.request, http.MethodGet) {
			continue
		}
		if tries[s.request]++; tries[s.request] > 1 && keys[s.request] != s.key {
			t.Errorf("%s was repeated with another Idempotency-Key", s.request)
		}
		keys[s.request] = s.key
	}
	for call, n := range tries {
		if n != 3 || keys[call] == "" {
			t.Errorf("%s was sent %d times with key %q, want 3 times with a key", call, n, keys[call])
		}
	}
	if len(tries) != 3 {
		t.Errorf("calls that change something: %v, want start, answer and delete", tries)
	}
}

func readableElsewhereAtOnce(t *testing.T, c *cluster) {
	sdks := []*client.SDK{c.sdkOf(t, 0), c.sdkOf(t, 1)}
	for i := range rounds(200, 10_000) {
		accepted := start(t, sdks[i%2], request("sandbox", "guided", nil))
		if job := getJob(t, sdks[1-i%2], accepted.JobID); job.Version < accepted.Job.Version {
			t.Fatalf("round %d: the other replica has version %d, the start answered %d", i, job.Version, accepted.Job.Version)
		}
	}
}

func seenIsAnswerable(t *testing.T, c *cluster) {
	sdks := []*client.SDK{c.sdkOf(t, 0), c.sdkOf(t, 1)}
	for i := range rounds(50, 2000) {
		accepted := start(t, sdks[i%2], request("sandbox", "guided", nil))
		seen := getJob(t, sdks[1-i%2], accepted.JobID)
		answer(t, sdks[i/2%2], seen, "region", object{"region": "eu"})
	}
}

func foundAgain(t *testing.T, c *cluster) {
	sdk := c.sdk(t)
	name, labels := "found-again", client.Labels{"task": "found-again"}
	r := request("sandbox", "guided", nil)
	r.Name, r.Labels = &name, &labels
	key := client.WithIdempotencyKey("found-again")
	lost, err := sdk.Start(patient(t), r, key)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{"by name again": start(t, sdk, r).JobID}
	byKey, err := sdk.Start(patient(t), r, key)
	if err != nil {
		t.Fatal(err)
	}
	found["by key"] = byKey.JobID
	instances, err := sdk.ListInstancesWithResponse(patient(t), &client.ListInstancesParams{Name: &name})
	if err != nil || instances.JSON200 == nil || len(instances.JSON200.Items) != 1 {
		t.Fatalf("list instances: %v %s", err, instances.Body)
	}
	found["in the list of instances"] = instances.JSON200.Items[0].JobID
	jobs, err := sdk.ListJobsWithResponse(patient(t), &client.ListJobsParams{Label: &client.Label{"task=found-again"}})
	if err != nil || jobs.JSON200 == nil || len(jobs.JSON200.Items) != 1 {
		t.Fatalf("list jobs: %v %s", err, jobs.Body)
	}
	found["in the list of jobs"] = jobs.JSON200.Items[0].ID
	for how, id := range found {
		if id != lost.JobID {
			t.Errorf("%s: found %s, want %s", how, id, lost.JobID)
		}
	}
}

func badIDs(t *testing.T, c *cluster) {
	ids := []string{
		"%2F", "..%2F..%2Fetc", "%2e%2e", ".", "job_", "job_01h455vb4pex5vsknk084sn02q%00", "%F0%9F%98%80", "job%20x",
		"job_" + strings.Repeat("0", 10_000), "inst_01h455vb4pex5vsknk084sn02q", "'%20OR%201=1--", "job_01h455vb4pex5vsknk084sn02q",
	}
	paths := []string{"/v1/jobs/%s", "/v1/jobs/%s/events", "/v1/instances/%s", "/v1/bindings/%s/credentials", "/v1/services/%s"}
	for _, id := range ids {
		for _, path := range paths {
			resp := c.do(t, http.MethodGet, fmt.Sprintf(path, id), "", nil)
			list := strings.TrimSuffix(path, "%s")
			// "." is a client's or a proxy's way to write the folder itself.
			if id == "." && list != path && resp.status == http.StatusOK {
				continue
			}
			if resp.status != http.StatusBadRequest && resp.status != http.StatusNotFound {
				t.Errorf("GET %.60s: %.200s", fmt.Sprintf(path, id), resp)
			}
		}
	}
}

func bodyOverLimit(t *testing.T, c *cluster) {
	name := "over-limit"
	body := fmt.Sprintf(`{"service": "sandbox", "plan": "instant", "name": %q, "labels": {"a": %q}}`, name, strings.Repeat("a", 1<<20))
	if resp := c.do(t, http.MethodPost, "/v1/instances", body, nil); resp.status != http.StatusRequestEntityTooLarge {
		t.Errorf("over the limit: %.300s", resp)
	}
	list, err := c.sdk(t).ListInstancesWithResponse(patient(t), &client.ListInstancesParams{Name: &name})
	if err != nil || list.JSON200 == nil || len(list.JSON200.Items) != 0 {
		t.Errorf("something was made of it: %v %s", err, list.Body)
	}
}
