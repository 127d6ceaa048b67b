package main

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/provisiond/provisiond/internal/pgtest"
	"github.com/provisiond/provisiond/jobs"
	"github.com/provisiond/provisiond/jobs/catalog"
)

func TestMetricsCountTheDatabase(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	keyset, err := jobs.CreateKeyset()
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := jobs.ReadKeyset(keyset)
	if err != nil {
		t.Fatal(err)
	}
	service, err := jobs.New(jobs.Config{Pool: pool, Sealer: sealer, Catalog: &catalog.Catalog{}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = pool.Exec(t.Context(), `
		INSERT INTO tenant (id, name) VALUES ('tnt_1', 'shop');
		INSERT INTO instance (id, tenant_id, service, plan, driver, settings, parameters, labels, state, job_id)
		VALUES ('inst_1', 'tnt_1', 's', 'p', 'd', '{}', '{}', '{}', 'provisioning', 'job_1');
		INSERT INTO job (id, tenant_id, instance_id, operation, service, plan, driver, state, phase, owner, lease_until,
		                 due_at, deadline_at, on_question, progress, labels, created_by, by_person)
		VALUES ('job_1', 'tnt_1', 'inst_1', 'provision', 's', 'p', 'd', 'pending', 'running', 'w', now() - interval '1 s',
		        now(), now() + interval '1 h', 'ask', '{}', '{}', 'key_1', false);
		INSERT INTO orphan (id, tenant_id, instance_id, job_id, service, driver, kind, name, reason, retry_at, ended_at, ending)
		VALUES ('orph_1', 'tnt_1', 'inst_1', 'job_1', 's', 'd', 'thing', '1', '', now(), NULL, NULL),
		       ('orph_2', 'tnt_1', 'inst_1', 'job_1', 's', 'd', 'thing', '2', '', NULL, NULL, NULL),
		       ('orph_3', 'tnt_1', 'inst_1', 'job_1', 's', 'd', 'thing', '3', '', NULL, NULL, NULL),
		       ('orph_4', 'tnt_1', 'inst_1', 'job_1', 's', 'd', 'thing', '4', '', NULL, now(), 'removed')`)
	if err != nil {
		t.Fatal(err)
	}
	err = testutil.CollectAndCompare(jobCollector{service, slog.Default()}, strings.NewReader(`
# HELP provisiond_jobs_lease_lapsed Running jobs beyond their lease: their workers are dead or cut off. More than a moment above 0 means that no replica sweeps.
# TYPE provisiond_jobs_lease_lapsed gauge
provisiond_jobs_lease_lapsed 1
# HELP provisiond_instances Instances that are not deleted, in the whole database, by state.
# TYPE provisiond_instances gauge
provisiond_instances{state="provisioning"} 1
# HELP provisiond_orphans What may be left outside, by whether it is tried again (retried) or needs an operator (stuck); provisiond orphans list shows it.
# TYPE provisiond_orphans gauge
provisiond_orphans{next="retried"} 1
provisiond_orphans{next="stuck"} 2
`), "provisiond_jobs_lease_lapsed", "provisiond_instances", "provisiond_orphans")
	if err != nil {
		t.Error(err)
	}
}
