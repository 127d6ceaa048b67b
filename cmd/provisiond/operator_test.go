package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/internal/pgtest"
	"github.com/provisiond/provisiond/jobs"
	"github.com/provisiond/provisiond/jobs/catalog"
)

// onDatabase is the environment of commands on a database.
func onDatabase(url string) map[string]string {
	return map[string]string{"PROVISIOND_DATABASE_URL": url}
}

func TestTenants(t *testing.T) {
	t.Parallel()
	vars := onDatabase(pgtest.URL(t))
	id := strings.TrimSpace(runCommand(t, vars, "tenants", "create", "shop").must(t).stdout)
	runCommand(t, vars, "tenants", "create", "shop").expect(t, exitFailed,
		"provisiond: name_taken: a tenant of this name exists")
	fields := strings.Fields(runCommand(t, vars, "tenants", "list").must(t).stdout)
	if len(fields) != 3 || fields[0] != id || fields[1] != "shop" {
		t.Errorf("listed %q, want %s shop and a time", fields, id)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	vars := onDatabase(pgtest.URL(t))
	vars["PROVISIOND_TENANT"] = "shop"
	runCommand(t, vars, "keys", "create").expect(t, exitFailed, "provisiond: not_found: there is no tenant of this name")
	runCommand(t, vars, "tenants", "create", "shop").must(t)

	created := runCommand(t, vars, "keys", "create", "--name=ci", "--expires-in=1h").must(t)
	key := strings.TrimSpace(created.stdout)
	service := serviceOn(t, vars["PROVISIOND_DATABASE_URL"])
	caller, err := service.Authenticate(t.Context(), key)
	if err != nil {
		t.Fatalf("the printed key is no good: %v", err)
	}
	if caller.Kind != jobs.KindAgent || caller.Can(jobs.ScopeCredentialsRead) {
		t.Errorf("by default the key is %s with %q, want an agent's without credentials:read", caller.Kind, caller.Scopes)
	}
	list := runCommand(t, vars, "keys", "list").must(t).stdout
	if strings.Contains(list+created.stderr, key) || !strings.Contains(list, caller.KeyID) {
		t.Errorf("the list must show the ID and never the key: %s", list)
	}

	runCommand(t, vars, "keys", "revoke", caller.KeyID).must(t)
	if got := runCommand(t, vars, "keys", "list").must(t).stdout; !strings.Contains(got, "revoked") {
		t.Errorf("the list does not show the revocation: %s", got)
	}
	runCommand(t, vars, "keys", "revoke", "key_x").expect(t, exitFailed,
		"provisiond: not_found: there is no key of this ID")
}

func TestKeysOfOtherKindsAndScopes(t *testing.T) {
	t.Parallel()
	vars := onDatabase(pgtest.URL(t))
	vars["PROVISIOND_TENANT"] = "shop"
	runCommand(t, vars, "tenants", "create", "shop").must(t)
	service := serviceOn(t, vars["PROVISIOND_DATABASE_URL"])
	for name, c := range map[string]struct {
		args []string
		want jobs.Caller
	}{
		"person": {[]string{"--kind=person"}, jobs.Caller{Kind: jobs.KindPerson, Scopes: jobs.AllScopes()}},
		"scopes": {
			[]string{"--scope=jobs:read", "--scope=credentials:read"},
			jobs.Caller{Kind: jobs.KindAgent, Scopes: []string{jobs.ScopeJobsRead, jobs.ScopeCredentialsRead}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			created := runCommand(t, vars, append([]string{"keys", "create"}, c.args...)...).must(t)
			got, err := service.Authenticate(t.Context(), strings.TrimSpace(created.stdout))
			if err != nil {
				t.Fatal(err)
			}
			got.TenantID, got.KeyID = "", ""
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("caller (-want +got):\n%s", diff)
			}
		})
	}
	runCommand(t, vars, "keys", "create", "--kind=robot", "--scope=all").expect(t, exitConfig,
		"provisiond: --kind (PROVISIOND_KIND) must be one of agent, person, service, admin",
		"provisiond: --scope (PROVISIOND_SCOPE) must be of "+strings.Join(jobs.AllScopes(), ", "))
}

// serviceOn is a core on the database that offers nothing.
func serviceOn(t *testing.T, url string) *jobs.Service {
	t.Helper()
	pool, err := databaseOptions{DatabaseURL: url}.pool()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	sealer, err := devSealer(filepath.Join(t.TempDir(), "keyset.json"))
	if err != nil {
		t.Fatal(err)
	}
	service, err := jobs.New(jobs.Config{Pool: pool, Catalog: &catalog.Catalog{}, Sealer: sealer})
	if err != nil {
		t.Fatal(err)
	}
	return service
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	vars := onDatabase(pgtest.EmptyURL(t))
	if got := runCommand(t, vars, "migrate", "status").must(t).stdout; !strings.Contains(got, "to be applied") {
		t.Errorf("status of an empty database: %s", got)
	}
	runCommand(t, vars, "migrate", "up").must(t)
	if got := runCommand(t, vars, "migrate", "status").must(t).stdout; strings.Contains(got, "to be applied") {
		t.Errorf("status of a migrated database: %s", got)
	}
}

func TestKeyset(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keyset.json")
	vars := map[string]string{"PROVISIOND_KEYSET_FILE": path}
	runCommand(t, vars, "keyset", "create").must(t)
	first := readKeyset(t, path)
	if got := runCommand(t, vars, "keyset", "create"); got.code != exitFailed || readKeyset(t, path) != first {
		t.Errorf("a second create ended with %d and must not touch the file: %s", got.code, got.stderr)
	}
	added := regexp.MustCompile(`\d+`).FindString(runCommand(t, vars, "keyset", "rotate").must(t).stdout)
	primary := regexp.MustCompile(`"primaryKeyId":(\d+)`)
	rotated := readKeyset(t, path)
	if rotated == first || primary.FindString(rotated) != primary.FindString(first) {
		t.Error("rotate must add a key and not encrypt with it yet")
	}
	// Replicas have the first of two keys at most, and promote would take the second.
	if got := runCommand(t, vars, "keyset", "rotate"); got.code != exitFailed || !strings.Contains(got.stderr, added) || readKeyset(t, path) != rotated {
		t.Errorf("a second rotate ended with %d and must not touch the file: %s", got.code, got.stderr)
	}
	promoted := runCommand(t, vars, "keyset", "promote").must(t).stdout
	if now := primary.FindStringSubmatch(readKeyset(t, path)); !strings.Contains(promoted, added) || now[1] != added {
		t.Errorf("key %s was added, promote said %q, and %s is primary", added, promoted, now[1])
	}
	if got := runCommand(t, vars, "keyset", "promote"); got.code != exitFailed || !strings.Contains(got.stderr, "nothing to promote") {
		t.Errorf("a second promote ended with %d: %s", got.code, got.stderr)
	}
	if primary.FindString(readKeyset(t, path)) == primary.FindString(first) {
		t.Error("promote kept the primary key")
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("rotate left files behind: %v, %v", entries, err)
	}
}

// readKeyset checks that the file is its owner's alone.
func readKeyset(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("the keyset has mode %o, want 600", mode)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
