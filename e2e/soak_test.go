package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	gocmp "github.com/google/go-cmp/cmp"
)

// soakCatalog has plans that ask nothing, so that a random operation never waits for a person.
const soakCatalog = `
services:
  - id: postgres
    name: PostgreSQL
    driver: postgres
    config: { admin_url: "${PROVISIOND_POSTGRES_ADMIN_URL}" }
    plans:
      - id: small
        name: Small
        confirm_destroy: false
        updates_to: [large]
        parameters: &parameters
          properties:
            connection_limit: { type: integer, minimum: 1, maximum: 50, default: 5, x-mutable: true }
        settings: { connection_limit: 50 }
      - { id: large, name: Large, confirm_destroy: false, updates_to: [small], parameters: *parameters, settings: { connection_limit: 100 } }
  - id: sandbox
    name: Sandbox
    driver: sandbox
    plans:
      - id: small
        name: Small
        confirm_destroy: false
        updates_to: [large]
        settings: { steps: 3, duration: 300ms, update_duration: 200ms }
      - { id: large, name: Large, confirm_destroy: false, updates_to: [small], settings: { steps: 3, duration: 300ms, fail_deprovision: 1 } }
`

// TestSoakEndsWithWhatTheAPISays does random operations on instances while workers are killed. In the end
// the back ends hold what the API says, and nothing else.
func TestSoakEndsWithWhatTheAPISays(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{catalogText: soakCatalog, workers: 3})
	s := &soak{cluster: c, t: t, slots: make([]slot, rounds(8, 50)), left: atomic.Int64{}}
	s.left.Store(int64(rounds(150, 2000)))

	done := make(chan struct{})
	var killer sync.WaitGroup
	killer.Go(func() { s.killWorkers(done, time.Duration(rounds(2, 10))*time.Second) })
	inParallel(8, func(int) {
		for s.left.Add(-1) >= 0 && !t.Failed() {
			s.operate()
		}
	})
	close(done)
	killer.Wait()
	s.settle()
	s.compare()
	// What failed is a deletion that was canceled in its course.
	for _, in := range s.instances() {
		if in.State == "failed" {
			s.call(http.MethodDelete, "/v1/instances/"+in.ID, nil, nil)
		}
	}
	s.settle()
	if states := s.compare(); states["failed"] > 0 {
		t.Errorf("%d instances are failed again", states["failed"])
	}
}

// soak is the state of the test: what it knows of the instances is only their IDs.
type soak struct {
	*cluster

	t     *testing.T
	slots []slot
	left  atomic.Int64
	refusals,
	begun atomic.Int64
}

// slot holds one instance at a time.
type slot struct {
	mu       sync.Mutex
	instance string
}

// killWorkers kills one worker after another, and starts it again.
func (s *soak) killWorkers(done <-chan struct{}, every time.Duration) {
	for i := 0; ; i++ {
		select {
		case <-done:
			return
		case <-time.After(every):
		}
		w := s.workers[i%len(s.workers)]
		w.kill()
		w.start(s.t)
	}
}

// operate does one random operation on a random slot. It may be refused, since others work on it too.
func (s *soak) operate() {
	sl := &s.slots[rand.N(len(s.slots))]
	sl.mu.Lock()
	id := sl.instance
	if id == "" {
		service := []string{"postgres", "sandbox"}[rand.N(2)]
		var job soakJob
		s.call(http.MethodPost, "/v1/instances", object{"service": service, "plan": "small"}, &job)
		sl.instance = job.InstanceID
		sl.mu.Unlock()
		return
	}
	sl.mu.Unlock()
	at := "/v1/instances/" + id
	switch rand.N(12) {
	case 0, 1:
		s.call(http.MethodPatch, at, object{"plan": []string{"small", "large"}[rand.N(2)]}, nil)
	case 2:
		s.call(http.MethodPatch, at, object{"labels": object{"n": strconv.Itoa(rand.N(9))}}, nil)
	case 3, 4:
		s.call(http.MethodPost, at+"/bindings", object{}, nil)
	case 5, 6:
		s.call(http.MethodPost, "/v1/bindings/"+s.binding(id)+"/rotate", object{"overlap": rand.N(2)}, nil)
	case 7:
		s.call(http.MethodDelete, "/v1/bindings/"+s.binding(id), nil, nil)
	case 8:
		s.call(http.MethodPost, at+"/check", object{}, nil)
	case 9:
		s.call(http.MethodPatch, at, object{"expires_in": 60 + rand.N(60)}, nil)
	case 10:
		var in soakInstance
		s.call(http.MethodGet, at, nil, &in)
		s.call(http.MethodPost, "/v1/jobs/"+in.JobID+"/cancel", object{}, nil)
	default:
		s.call(http.MethodDelete, at, nil, nil)
		sl.mu.Lock()
		if sl.instance == id {
			sl.instance = ""
		}
		sl.mu.Unlock()
	}
}

// binding is one of the instance's, or an ID of none.
func (s *soak) binding(instanceID string) string {
	bindings := s.bindings(instanceID)
	if len(bindings) == 0 {
		return "bind_01h455vb4pex5vsknk084sn02q"
	}
	return bindings[rand.N(len(bindings))].ID
}

type soakJob struct {
	ID, State  string
	InstanceID string `json:"instance_id"`
}

type soakInstance struct {
	ID, Service, State string
	JobID              string `json:"job_id"`
	Findings           []object
}

type soakBinding struct{ ID, State string }

func (s *soak) bindings(instanceID string) []soakBinding {
	var list struct{ Items []soakBinding }
	s.call(http.MethodGet, "/v1/instances/"+instanceID+"/bindings?limit=200", nil, &list)
	return list.Items
}

// call makes one request. What is refused must be refused for good reason.
func (s *soak) call(method, path string, body, into any) {
	s.t.Helper()
	payload := []byte{}
	if body != nil {
		var err error
		if payload, err = json.Marshal(body); err != nil {
			s.t.Error(err)
			return
		}
	}
	resp, err := s.try(s.t, s.balancer.URL, method, path, string(payload), http.Header{})
	switch {
	case err != nil:
		s.t.Errorf("%s %s: %v", method, path, err)
	case resp.status/100 == 2 && into != nil:
		if err := json.Unmarshal([]byte(resp.body), into); err != nil {
			s.t.Errorf("%s %s: %v: %s", method, path, err, resp.body)
		}
	case resp.status == http.StatusAccepted:
		s.begun.Add(1)
		if rand.N(4) > 0 {
			s.follow(resp)
		}
	case resp.status/100 == 2:
		s.begun.Add(1)
	case resp.status == http.StatusConflict || resp.status == http.StatusNotFound:
		s.refusals.Add(1)
	default:
		s.t.Errorf("%s %s: %s", method, path, resp)
	}
}

// follow waits a while for the end of a job, so that the next operation finds the instance free.
func (s *soak) follow(accepted response) {
	s.t.Helper()
	for range 3 {
		resp, err := s.try(s.t, s.balancer.URL, http.MethodGet, accepted.header.Get("Location")+"?wait=5", "", http.Header{})
		if err != nil || resp.status != http.StatusOK {
			s.t.Errorf("poll: %s, %v", resp, err)
			return
		}
		var job soakJob
		if err := json.Unmarshal([]byte(resp.body), &job); err != nil || job.State != "pending" {
			return
		}
	}
}

// settle waits until no job runs and nothing is left for the sweep.
func (s *soak) settle() {
	s.t.Helper()
	const busy = `
		SELECT format('%s %s of %s is %s (%s)', operation, id, instance_id, state, phase) FROM job WHERE finished_at IS NULL
		UNION ALL
		SELECT format('binding %s of %s is being removed', id, instance_id) FROM binding WHERE removing
		UNION ALL
		SELECT format('binding %s of %s has expired at %s', b.id, i.id, b.expires_at) FROM binding b JOIN instance i ON i.id = b.instance_id
		WHERE b.state = 'active' AND b.expires_at < clock_timestamp() AND i.state = 'active'
		UNION ALL
		SELECT format('%s is %s and has expired at %s', id, state, expires_at) FROM instance
		WHERE expires_at < clock_timestamp() AND state IN ('provisioning', 'active')`
	for end := time.Now().Add(3 * patience); ; time.Sleep(50 * time.Millisecond) {
		rows, err := s.db.Query(context.Background(), busy)
		if err != nil {
			s.t.Fatal(err)
		}
		todo, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			s.t.Fatal(err)
		}
		if len(todo) == 0 {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("still to be done:\n%s", strings.Join(todo, "\n"))
		}
	}
}

// compare holds the back ends against the API, and tells how many instances are in which state. A failed
// instance has something in the back end only with a line on the ledger, and no other one has a line.
func (s *soak) compare() (states map[string]int) {
	s.t.Helper()
	ctx := patient(s.t)
	admin, err := pgx.Connect(ctx, s.adminURL)
	if err != nil {
		s.t.Fatal(err)
	}
	defer admin.Close(ctx)
	rows, err := s.db.Query(ctx, `SELECT instance_id FROM orphan WHERE ended_at IS NULL`)
	if err != nil {
		s.t.Fatal(err)
	}
	ledger, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		s.t.Fatal(err)
	}
	states = map[string]int{}
	for _, in := range s.instances() {
		states[in.State]++
		listed := slices.Contains(ledger, in.ID)
		switch {
		case in.State == "failed" && listed:
			continue
		case listed:
			s.t.Errorf("%s of %s is %s and on the ledger", in.ID, in.Service, in.State)
		}
		var want []string
		if in.State == "active" {
			want = append(want, "instance")
			for _, b := range s.bindings(in.ID) {
				if b.State == "active" {
					want = append(want, strings.TrimPrefix(b.ID, "bind_"))
					s.mustConnect(in, b.ID)
				}
			}
		}
		slices.Sort(want)
		if diff := gocmp.Diff(want, s.existing(ctx, admin, in)); diff != "" {
			s.t.Errorf("%s of %s is %s (-API +back end):\n%s", in.ID, in.Service, in.State, diff)
		}
	}
	s.t.Logf("%d calls taken, %d refused; instances by state: %v; ledger: %d", s.begun.Load(), s.refusals.Load(), states, len(ledger))
	return states
}

func (s *soak) instances() []soakInstance {
	var all []soakInstance
	for path := "/v1/instances?limit=200"; ; {
		var page struct {
			Items      []soakInstance
			NextCursor string `json:"next_cursor"`
		}
		s.call(http.MethodGet, path, nil, &page)
		all = append(all, page.Items...)
		if page.NextCursor == "" {
			return all
		}
		path = "/v1/instances?limit=200&cursor=" + page.NextCursor
	}
}

// existing lists what the back end holds of an instance: "instance" for the thing itself, and the suffix
// of each binding's ID.
func (s *soak) existing(ctx context.Context, admin *pgx.Conn, in soakInstance) (found []string) {
	s.t.Helper()
	var rows pgx.Rows
	var err error
	if in.Service == "sandbox" {
		rows, err = s.db.Query(ctx, `SELECT name FROM sandbox_object WHERE instance_id = $1`, in.ID)
	} else {
		// A login counts with its grant, and the owner role with its database.
		rows, err = admin.Query(ctx, `
			SELECT r.rolname::text FROM pg_roles r
			WHERE r.rolname = $1 AND EXISTS (SELECT FROM pg_database d WHERE d.datname = $1 AND d.datdba = r.oid)
			UNION ALL
			SELECT r.rolname::text || CASE WHEN m.roleid IS NULL THEN ' without its grant' ELSE '' END
			FROM pg_roles r LEFT JOIN pg_auth_members m ON m.member = r.oid AND m.roleid = (SELECT oid FROM pg_roles WHERE rolname = $1)
			WHERE starts_with(shobj_description(r.oid, 'pg_authid'), 'provisiond instance ' || $2 || ' binding ')
			UNION ALL
			SELECT 'owner role without a database' FROM pg_roles
			WHERE rolname = $1 AND NOT EXISTS (SELECT FROM pg_database WHERE datname = $1)
			UNION ALL
			SELECT 'database without an owner role' FROM pg_database
			WHERE datname = $1 AND NOT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)`,
			"prov_"+strings.TrimPrefix(in.ID, "inst_"), in.ID)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		s.t.Fatal(err)
	}
	for _, name := range names {
		suffix := name
		for _, prefix := range []string{"sandbox-user-", "prov_u_", "sandbox-", "prov_"} {
			suffix = cmp.Or(strings.TrimPrefix(suffix, prefix), suffix)
		}
		if suffix == strings.TrimPrefix(in.ID, "inst_") {
			suffix = "instance"
		}
		found = append(found, suffix)
	}
	slices.Sort(found)
	return found
}

// mustConnect uses the credentials of a binding that the API says is active.
func (s *soak) mustConnect(in soakInstance, bindingID string) {
	s.t.Helper()
	if in.Service != "postgres" {
		return
	}
	var c struct{ Credentials map[string]string }
	s.call(http.MethodGet, "/v1/bindings/"+bindingID+"/credentials", nil, &c)
	conn, err := pgx.Connect(patient(s.t), c.Credentials["uri"])
	if err != nil {
		s.t.Errorf("%s of %s: %v", bindingID, in.ID, err)
		return
	}
	_ = conn.Close(patient(s.t))
}
