package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/internal/pgtest"
	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/provider"
)

// backEnd is a driver with a back end in memory that a test scripts call by call. It records what
// the core does with a driver.
type backEnd struct {
	provision, bind, deprovision, update, unbind func(ctx context.Context, r *provider.Request) error
	check                                        func() []provider.Finding
	find                                         func() []provider.Object

	mu      sync.Mutex
	calls   []string
	objects map[string]int    // instance -> how often made and not removed
	logins  map[string]string // binding -> its instance
	active  map[string]int    // instance -> driver calls under way
	overlap bool              // two calls on one instance at once
}

func (b *backEnd) enter(name string, r *provider.Request) func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, name)
	if b.active == nil {
		b.active, b.objects, b.logins = map[string]int{}, map[string]int{}, map[string]string{}
	}
	b.active[r.InstanceID]++
	b.overlap = b.overlap || b.active[r.InstanceID] > 1
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.active[r.InstanceID]--
	}
}

func (b *backEnd) Provision(ctx context.Context, r *provider.Request) (provider.Endpoint, error) {
	defer b.enter("provision", r)()
	if b.provision != nil {
		if err := b.provision(ctx, r); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.objects[r.InstanceID] = 1
	return provider.Endpoint{"host": "localhost"}, nil
}

func (b *backEnd) Bind(ctx context.Context, r *provider.Request) (provider.Credentials, error) {
	defer b.enter("bind", r)()
	if b.bind != nil {
		if err := b.bind(ctx, r); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.logins[r.BindingID] = r.InstanceID
	return provider.Credentials{"password": canary, "binding": r.BindingID}, nil
}

func (b *backEnd) Unbind(ctx context.Context, r *provider.Request) error {
	defer b.enter("unbind", r)()
	if b.unbind != nil {
		if err := b.unbind(ctx, r); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.logins, r.BindingID)
	return nil
}

func (b *backEnd) Update(ctx context.Context, r *provider.Request) (provider.Endpoint, error) {
	defer b.enter("update", r)()
	if b.update != nil {
		if err := b.update(ctx, r); err != nil {
			return nil, err
		}
	}
	return provider.Endpoint{"host": "updated"}, nil
}

func (b *backEnd) Check(_ context.Context, r *provider.Request) ([]provider.Finding, error) {
	defer b.enter("check", r)()
	if b.check == nil {
		return nil, nil
	}
	return b.check(), nil
}

func (*backEnd) Names(r *provider.Request) []provider.Object {
	names := []provider.Object{{Kind: "thing", Name: r.InstanceID}}
	if r.BindingID != "" {
		names = append(names, provider.Object{Kind: "login", Name: r.BindingID})
	}
	return names
}

// loginsOf are the bindings that exist outside.
func (b *backEnd) loginsOf(instanceID string) (ids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, of := range b.logins {
		if of == instanceID {
			ids = append(ids, id)
		}
	}
	return ids
}

func (b *backEnd) Deprovision(ctx context.Context, r *provider.Request) error {
	defer b.enter("deprovision", r)()
	if b.deprovision != nil {
		if err := b.deprovision(ctx, r); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.objects, r.InstanceID)
	maps.DeleteFunc(b.logins, func(_, of string) bool { return of == r.InstanceID })
	return nil
}

func (b *backEnd) Find(_ context.Context, r *provider.Request) ([]provider.Object, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.objects[r.InstanceID] == 0:
		return nil, nil
	case b.find != nil:
		return b.find(), nil
	}
	return []provider.Object{{Kind: "thing", Name: r.InstanceID}}, nil
}

func (b *backEnd) left() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.objects)
}

func (b *backEnd) count(call string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, c := range b.calls {
		if c == call {
			n++
		}
	}
	return n
}

// canary is a secret that must appear nowhere.
const canary = "canary-7f3a9c-secret"

const testCatalog = `
services:
  - id: thing
    name: Thing
    description: For tests.
    driver: scripted
    plans:
      - { id: plain, name: Plain, description: Asks nothing., confirm_destroy: false, updates_to: [paid] }
      - { id: precious, name: Precious, description: Its deletion is confirmed., question_expiry: 1h }
      - id: region
        name: Region
        description: Asks a region and a secret.
        confirm_destroy: false
        parameters:
          properties:
            region: { type: string, enum: [eu, us] }
            token: { type: string, writeOnly: true, minLength: 8 }
            size: { type: integer, minimum: 1, default: 1 }
          required: [region, token]
      - { id: paid, name: Paid, description: Costs., price: { amount: "5.00", currency: USD, per: month }, confirm_cost: true, confirm_destroy: false }
`

type fixture struct {
	*Service
	back   *backEnd
	pool   *pgxpool.Pool
	caller Caller
	log    *lockedBuffer
}

// lockedBuffer is a log that is written from several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.String()
}

// tail is the end of the log, for the message of a test that fails.
func (b *lockedBuffer) tail() string {
	text := b.text()
	return text[max(0, len(text)-3000):]
}

func loadCatalog(t testing.TB, text string, back provider.Driver) *catalog.Catalog {
	t.Helper()
	factory := func(json.RawMessage) (provider.Driver, error) { return back, nil }
	c, err := catalog.Load("test.yaml", []byte(text), func(string) (string, bool) { return "", false },
		map[string]provider.Factory{"scripted": factory, "other": factory})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newFixture makes a service on a database of its own. Nothing runs yet.
func newFixture(t testing.TB, change ...func(*Config)) *fixture {
	t.Helper()
	pool := pgtest.Pool(t)
	keyset, err := CreateKeyset()
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := ReadKeyset(keyset)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{back: &backEnd{}, pool: pool, log: &lockedBuffer{}}
	c := Config{
		Pool: pool, Catalog: loadCatalog(t, testCatalog, f.back), Sealer: sealer,
		Logger: slog.New(slog.NewJSONHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Lease:  3 * time.Second, Sweep: 50 * time.Millisecond, Workers: 10,
	}
	for _, ch := range change {
		ch(&c)
	}
	if f.Service, err = New(c); err != nil {
		t.Fatal(err)
	}
	f.caller = f.newCaller(t, "acme", KindAgent)
	return f
}

func (f *fixture) newCaller(t testing.TB, tenant string, kind KeyKind) Caller {
	t.Helper()
	ctx := t.Context()
	admin := NewAdmin(f.pool)
	tn, err := admin.TenantByName(ctx, tenant)
	if err != nil {
		if tn, err = admin.CreateTenant(ctx, tenant); err != nil {
			t.Fatal(err)
		}
	}
	_, token, err := admin.CreateKey(ctx, NewKey{TenantID: tn.ID, Name: "test", Kind: kind, Scopes: AllScopes()})
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Authenticate(ctx, token)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run runs the service's loops until the test ends.
func (f *fixture) run(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// work runs a worker until the test ends.
func (f *fixture) work(t testing.TB) *Worker {
	t.Helper()
	w, err := f.StartWorker(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := w.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (f *fixture) start(t testing.TB, r StartRequest) Job {
	t.Helper()
	if r.Service == "" {
		r.Service = "thing"
	}
	if r.Plan == "" {
		r.Plan = "plain"
	}
	res, err := f.Start(t.Context(), f.caller, r)
	if err != nil {
		t.Fatal(err)
	}
	return res.Job
}

// until waits for the job to fit; it fails the test after a minute.
func (f *fixture) until(t testing.TB, jobID, what string, fits func(Job) bool) Job {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var since int64
	for {
		j, err := f.Wait(ctx, f.caller, jobID, since, 10*time.Second)
		if err != nil {
			t.Fatalf("waiting for %s: %v\n%s", what, err, f.log.tail())
		}
		if fits(j) {
			return j
		}
		if j.State.Final() {
			t.Fatalf("the job is final and not %s: %s\n%s", what, show(j), f.log.tail())
		}
		since = j.Version
	}
}

func (f *fixture) untilState(t testing.TB, jobID string, s State) Job {
	t.Helper()
	return f.until(t, jobID, string(s), func(j Job) bool { return j.State == s })
}

func show(j Job) string {
	text, _ := json.Marshal(j)
	return string(text)
}

func (f *fixture) answer(t testing.TB, c Caller, j Job, name string, content map[string]any) error {
	t.Helper()
	for _, q := range j.Questions {
		if q.Name == name && q.State == QuestionOpen {
			_, err := f.Answer(t.Context(), c, AnswerRequest{JobID: j.ID, QuestionID: q.ID, Action: ActionAccept, Content: content})
			return err
		}
	}
	t.Fatalf("no open question %q in %s", name, show(j))
	return nil
}

func mustBe[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func mustCode(t testing.TB, err error, code Code) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got error %v, want code %s", err, code)
	}
}

func (f *fixture) answerTo(t testing.TB, c Caller, jobID, questionID string, content map[string]any) error {
	t.Helper()
	_, err := f.Answer(t.Context(), c, AnswerRequest{JobID: jobID, QuestionID: questionID, Action: ActionAccept, Content: content})
	return err
}

// claimed takes the job as a worker of its own would, and leaves the rest to the test.
func (f *fixture) claimed(t testing.TB, j Job) *segment {
	t.Helper()
	seg, err := f.claim(t.Context(), "wrk_test", ticketArgs{JobID: j.ID, Epoch: f.epochOf(t, j.ID)})
	if err != nil || seg == nil {
		t.Fatalf("claim: %v %v", seg, err)
	}
	return seg
}

func (f *fixture) epochOf(t testing.TB, jobID string) (epoch int64) {
	t.Helper()
	if err := f.pool.QueryRow(t.Context(), `SELECT epoch FROM job WHERE id = $1`, jobID).Scan(&epoch); err != nil {
		t.Fatal(err)
	}
	return epoch
}

func (f *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := f.pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// lapse lets the job's lease end, by the database's clock.
func (f *fixture) lapse(t testing.TB, jobID string) {
	t.Helper()
	f.exec(t, `UPDATE job SET lease_until = clock_timestamp() - interval '1 s', due_at = clock_timestamp() - interval '1 s' WHERE id = $1`, jobID)
}

// pass lets a queued or waiting job's time come.
func (f *fixture) pass(t testing.TB, jobID string) {
	t.Helper()
	f.exec(t, `UPDATE job SET due_at = clock_timestamp() - interval '1 s' WHERE id = $1`, jobID)
}

func (f *fixture) sweepNow(t testing.TB) {
	t.Helper()
	if _, err := f.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// withCatalog is the same service with another catalog, as on a replica that was deployed later.
func (f *fixture) withCatalog(t testing.TB, text string) *Service {
	t.Helper()
	c := f.cfg
	c.Catalog = loadCatalog(t, text, f.back)
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
