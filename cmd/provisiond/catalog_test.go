package main

import (
	"testing"
)

const goodCatalog = `
services:
  - id: postgres
    name: PostgreSQL
    driver: postgres
    config: { admin_url: "${ADMIN_URL}" }
    plans:
      - { id: small, name: Small }
  - id: trial
    name: Trial
    driver: sandbox
    plans:
      - { id: quick, name: Quick }
      - { id: slow, name: Slow, settings: { duration: 5s } }
`

func TestCatalogCheck(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "catalog.yaml", goodCatalog)
	secret := writeFile(t, "url", "postgres://u:hunter2@host/db\n")
	for name, vars := range map[string]map[string]string{
		"variable": {"ADMIN_URL": "postgres://u:hunter2@host/db"},
		"file":     {"ADMIN_URL_FILE": secret},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runCommand(t, vars, "catalog", "check", file).must(t)
			if want := file + ": good: services 2, plans 3\n"; got.stdout != want {
				t.Errorf("got %q, want %q", got.stdout, want)
			}
		})
	}
}

func TestCatalogCheckReportsAllErrorsWithTheirLines(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "catalog.yaml", `
services:
  - id: postgres
    name: PostgreSQL
    driver: postgres
    config: { admin_url: "postgres://host/db", port: "${PORT}" }
    plans:
      - { id: small, name: Small, confirm_cost: perhaps }
  - id: trial
    name: Trial
    driver: sandbx
    plans:
      - { id: quick, name: Quick }
`)
	runCommand(t, nil, "catalog", "check", file).expect(t, exitFailed,
		"provisiond: the catalog has errors:",
		file+":6:13: services[0].config: port: unknown field",
		file+":6:54: services[0].config.port: environment variable PORT is not set",
		file+":8:49: services[0].plans[0].confirm_cost: must be true or false",
		file+":11:13: services[1].driver: is not a driver; the drivers are postgres, sandbox",
	)
}

func TestCatalogCheckWithoutTheFile(t *testing.T) {
	t.Parallel()
	runCommand(t, nil, "catalog", "check", "missing.yaml").expect(t, exitFailed,
		"provisiond: read catalog: open missing.yaml: no such file or directory")
}
