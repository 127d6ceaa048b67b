package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/internal/pgtest"
)

// stuck is a database with a queued job, one that a dead worker runs, and an orphan of each kind.
const stuck = `
	INSERT INTO tenant (id, name) VALUES ('tnt_1', 'shop');
	INSERT INTO instance (id, tenant_id, name, service, plan, driver, settings, parameters, labels, state, job_id, touched, plan_version)
	VALUES ('inst_1', 'tnt_1', 'orders', 'trial', 'quick', 'sandbox', '{}', '{}', '{}', 'provisioning', 'job_1', false, ''),
	       ('inst_2', 'tnt_1', NULL, 'trial', 'quick', 'sandbox', '{}', '{}', '{}', 'provisioning', 'job_2', true, ''),
	       ('inst_3', 'tnt_1', NULL, 'trial', 'quick', 'sandbox', '{}', '{}', '{}', 'active', 'job_3', true, 'old'),
	       ('inst_4', 'tnt_1', NULL, 'gone', 'quick', 'sandbox', '{}', '{}', '{}', 'deleted', 'job_4', true, '');
	INSERT INTO job (id, tenant_id, instance_id, operation, service, plan, driver, state, phase, owner, lease_until, attempts,
	                 due_at, deadline_at, on_question, progress, labels, created_by, by_person)
	VALUES ('job_1', 'tnt_1', 'inst_1', 'provision', 'trial', 'quick', 'sandbox', 'pending', 'queued', NULL, NULL, 3,
	        now(), now() + interval '1 h', 'ask', '{"step": "queued", "message": "Queued."}', '{}', 'key_1', false),
	       ('job_2', 'tnt_1', 'inst_2', 'provision', 'trial', 'quick', 'sandbox', 'pending', 'running', 'wrk_1', now(), 0,
	        now(), now() + interval '1 h', 'ask', '{"step": "running", "message": "Runs."}', '{}', 'key_1', false);
	INSERT INTO worker (id, drivers) VALUES ('wrk_2', '{postgres,sandbox}');
	INSERT INTO orphan (id, tenant_id, instance_id, job_id, service, driver, kind, name, reason, retry_at)
	VALUES ('orph_1', 'tnt_1', 'inst_3', 'job_3', 'trial', 'sandbox', 'instance', 'sandbox-3', 'refused: No.', now() + interval '1 h'),
	       ('orph_2', 'tnt_1', 'inst_4', 'job_4', 'gone', 'sandbox', 'instance', 'sandbox-4', 'not_mine: Foreign.', NULL);
	INSERT INTO sandbox_object (instance_id, kind, name) VALUES ('inst_3', 'instance', 'sandbox-3'), ('inst_9', 'instance', 'sandbox-9')`

// stuckDatabase returns the environment of commands on it.
func stuckDatabase(t *testing.T) map[string]string {
	t.Helper()
	vars := onDatabase(pgtest.URL(t))
	onStuck(t, vars, stuck)
	return vars
}

func onStuck(t *testing.T, vars map[string]string, sql string) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), vars["PROVISIOND_DATABASE_URL"])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(t.Context()) }()
	if _, err := db.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// line is the one with the word, its columns joined by one space.
func (r result) line(t *testing.T, word string) string {
	t.Helper()
	for line := range strings.Lines(r.stdout) {
		if fields := strings.Fields(line); len(fields) > 0 && strings.Contains(line, word) {
			return strings.Join(fields, " ")
		}
	}
	t.Fatalf("no %q in:\n%s", word, r.stdout)
	return ""
}

func (r result) mustShow(t *testing.T, word, want string) {
	t.Helper()
	if got := r.must(t).line(t, word); !strings.Contains(got, want) {
		t.Errorf("%s: got %q, want %q", word, got, want)
	}
}

func TestJobCommands(t *testing.T) {
	t.Parallel()
	vars := stuckDatabase(t)
	list := runCommand(t, vars, "jobs", "list")
	list.mustShow(t, "job_1", "job_1 queued provision shop trial/quick inst_1")
	list.mustShow(t, "job_2", " 0 wrk_1 Runs.")
	if got := runCommand(t, vars, "jobs", "list", "--phase=running").must(t).stdout; strings.Contains(got, "job_1") || !strings.Contains(got, "job_2") {
		t.Errorf("running ones:\n%s", got)
	}

	runCommand(t, vars, "jobs", "retry", "job_1", "--reason=the sandbox is back").must(t)
	shown := runCommand(t, vars, "jobs", "show", "job_1")
	shown.mustShow(t, "tries in a row", "tries in a row 0")
	shown.mustShow(t, "instance name", "orders")
	shown.mustShow(t, "operator.retry_job", `by operator {"by":"`+userName()+`","reason":"the sandbox is back"}`)
	runCommand(t, vars, "jobs", "retry", "job_2").expect(t, exitFailed,
		"provisiond: not_ready: A worker runs the job, wrk_1; where it hangs, jobs fail takes the job from it.")

	runCommand(t, vars, "jobs", "fail", "job_1").must(t)
	runCommand(t, vars, "jobs", "list").mustShow(t, "job_1", "failed_by_operator: An operator has ended the job: no reason given.")
	runCommand(t, vars, "jobs", "forget", "job_2", "--reason=its server burnt down").must(t)
	runCommand(t, vars, "jobs", "show", "job_2").mustShow(t, "orphan ", "instance inst_2, needs an operator")
	runCommand(t, vars, "jobs", "fail", "job_2").expect(t, exitFailed,
		"provisiond: job_finished: The job has finished as failed, for good. Its user deletes the instance and starts another; what is left of it is under orphans list.")
	runCommand(t, vars, "jobs", "show", "job_x").expect(t, exitFailed, "provisiond: not_found: there is no such job")
}

func TestInstancesForget(t *testing.T) {
	t.Parallel()
	vars := stuckDatabase(t)
	runCommand(t, vars, "instances", "forget", "inst_2").expect(t, exitFailed,
		"provisiond: operation_in_progress: The job job_2 works on the instance; jobs forget ends it.")
	runCommand(t, vars, "instances", "forget", "inst_3").must(t)
	runCommand(t, vars, "orphans", "list", "--instance=inst_3").mustShow(t, "orph_1", "needs an operator")
}

func TestOrphanCommands(t *testing.T) {
	t.Parallel()
	vars := stuckDatabase(t)
	list := runCommand(t, vars, "orphans", "list")
	list.mustShow(t, "orph_1", "orph_1 instance sandbox-3 trial sandbox shop inst_3 job_3")
	list.mustShow(t, "orph_2", "- needs an operator not_mine: Foreign.")
	runCommand(t, vars, "orphans", "retry", "orph_1").must(t)
	runCommand(t, vars, "orphans", "retry", "orph_2").expect(t, exitFailed,
		"provisiond: invalid_request: the orphan's instance is deleted or unknown, so no job can remove it: remove it at the back end, then orphans forget")
	runCommand(t, vars, "orphans", "forget", "orph_2", "--reason=removed by hand").must(t)
	if got := runCommand(t, vars, "orphans", "list").must(t).stdout; strings.Contains(got, "orph_2") {
		t.Errorf("still on the ledger:\n%s", got)
	}
	runCommand(t, vars, "orphans", "list", "--all").mustShow(t, "orph_2", "forgotten")
}

// An empty list of a tenant or an instance that does not exist would look like good news.
func TestListsOfWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	vars := stuckDatabase(t)
	for _, what := range []string{"jobs", "orphans"} {
		runCommand(t, vars, what, "list", "--tenant=nope").expect(t, exitFailed, "provisiond: not_found: there is no tenant of this name")
		runCommand(t, vars, what, "list", "--instance=inst_9").expect(t, exitFailed, "provisiond: not_found: there is no such instance")
	}
	onStuck(t, vars, `INSERT INTO tenant (id, name) VALUES ('tnt_2', 'idle')`)
	for _, filter := range []string{"--tenant=idle", "--instance=inst_1"} {
		if got := runCommand(t, vars, "orphans", "list", filter).must(t).stdout; strings.Count(got, "\n") != 1 {
			t.Errorf("%s:\n%s", filter, got)
		}
	}
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	got := runCommand(t, stuckDatabase(t), "workers")
	got.mustShow(t, "wrk_1", "wrk_1 no - - - 1")
	got.mustShow(t, "wrk_2", "wrk_2 yes postgres,sandbox")
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	vars := stuckDatabase(t)
	vars["PROVISIOND_CATALOG"] = writeFile(t, "catalog.yaml", trialCatalog)
	got := runCommand(t, vars, "reconcile", "--record")
	got.mustShow(t, "sandbox-9", "instance sandbox-9 inst_9 unknown trial")
	if strings.Contains(got.stdout, "sandbox-3") {
		t.Errorf("an instance that lives is listed:\n%s", got.stdout)
	}
	runCommand(t, vars, "orphans", "list").mustShow(t, "sandbox-9", "found by reconcile: the instance is unknown")
}

// trialCatalog offers what stuck has instances of.
const trialCatalog = `
services:
  - id: trial
    name: Trial
    driver: sandbox
    plans:
      - { id: quick, name: Quick }
`

func TestCatalogCheckAgainstDatabase(t *testing.T) {
	t.Parallel()
	vars := stuckDatabase(t)
	file := writeFile(t, "catalog.yaml", trialCatalog)
	want := file + ": good: services 1, plans 1\n" +
		file + ": warning: trial/quick: price, parameters or settings of the plan have changed: its instances keep what they have until an update names the plan (1: inst_3)\n" +
		file + ": note: whether provider configuration moved is seen only with --keyset-file, the replicas'\n"
	if got := runCommand(t, vars, "catalog", "check", file, "--against-database").must(t).stdout; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	runCommand(t, vars, "catalog", "check", file, "--against-database", "--strict").expect(t, exitFailed,
		"provisiond: the catalog changes things for what lives: 1 warnings")
	runCommand(t, nil, "catalog", "check", file, "--strict").expect(t, exitConfig,
		"provisiond: --strict (PROVISIOND_STRICT) needs --against-database")
	runCommand(t, nil, "catalog", "check", file, "--against-database").expect(t, exitConfig,
		"provisiond: --database-url (PROVISIOND_DATABASE_URL) is required")
}

// Whether configuration has moved is told with the replicas' keyset alone.
func TestCatalogCheckWithTheKeyset(t *testing.T) {
	t.Parallel()
	vars := stuckDatabase(t)
	vars["PROVISIOND_KEYSET_FILE"] = filepath.Join(t.TempDir(), "keyset.json")
	file := writeFile(t, "catalog.yaml", trialCatalog)
	check := []string{"catalog", "check", file, "--against-database", "--strict"}
	runCommand(t, vars, check...).expect(t, exitConfig,
		"provisiond: --keyset-file (PROVISIOND_KEYSET_FILE) must be a file that can be read: open "+vars["PROVISIOND_KEYSET_FILE"]+": no such file or directory")
	runCommand(t, vars, "keyset", "create").must(t)

	onStuck(t, vars, `UPDATE instance SET plan_version = '' WHERE id = 'inst_3'`) // it is a warning of its own
	want := file + ": good: services 1, plans 1\n" +
		file + ": note: trial/quick: not known whether provider configuration moved: the instances were made by an earlier release and had no successful job since (2: inst_2 inst_3)\n"
	if got := runCommand(t, vars, check...).must(t).stdout; got != want {
		t.Errorf("got %q, want %q", got, want)
	}

	onStuck(t, vars, `UPDATE instance SET config_digest = 'of another keyset' WHERE id = 'inst_3'`)
	runCommand(t, vars, check...).expect(t, exitFailed,
		"provisiond: read instances: instance inst_3: no key of the keyset opens it: instance.config_digest of inst_3")
}
