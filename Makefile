# Targets explain themselves: make help.
# Tools are pinned here and run from the module cache, so that nothing is installed by hand.
GOLANGCI_LINT = go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
OAPI_CODEGEN  = go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2
GO_LICENSES   = go run github.com/google/go-licenses@v1.6.0

LICENSES = Apache-2.0,BSD-2-Clause,BSD-3-Clause,ISC,MIT,MPL-2.0
FUZZTIME = 60s

.DEFAULT_GOAL = help
.PHONY: help run build test cover lint generate verify licenses e2e interop chaos bench bench-smoke fuzz

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## try provisiond: database, API, workers and MCP on 127.0.0.1:8080
	bin/provisiond dev

build: ## build bin/provisiond
	go build -o bin/ ./cmd/...

test: ## run all tests with the race detector, the e2e in its short form
	go test -race ./...

cover: ## run all tests and show what they cover
	go test -coverpkg=./... -coverprofile=coverage.out ./...
	go tool cover -func=coverage.out | tail -n 1
	@echo "in detail: go tool cover -html=coverage.out"

lint: ## run the linters
	$(GOLANGCI_LINT) run --allow-parallel-runners

generate: ## generate server, client and MCP schemas from openapi.yaml
	$(OAPI_CODEGEN) --config api/oapi-codegen.yaml openapi.yaml
	$(OAPI_CODEGEN) --config client/oapi-codegen.yaml openapi.yaml
	go run ./mcpfacade/internal/gen

verify: generate licenses ## check that what is generated or derived is up to date, and licences
	git diff --exit-code -- '*.gen.go' '*.gen.json'
	go mod tidy -diff
	go mod verify
	go vet ./...

# Of what goes into the binary; it fails on any licence that is not in the list. Two that the tool cannot
# tell: xi2/xz is in the public domain, segmentio/asm has MIT-0. Its warnings are about assembly files.
licenses: ## check the licences of the dependencies
	$(GO_LICENSES) check ./cmd/... --allowed_licenses=$(LICENSES) \
		--ignore github.com/provisiond/provisiond --ignore github.com/xi2/xz --ignore github.com/segmentio/asm \
		--logtostderr=false --stderrthreshold=ERROR --log_file=/dev/null

e2e: ## run the end-to-end tests against real processes; E2E_LONG=1 repeats chaos for long
	go test -race -count=1 -timeout 60m ./e2e/...

interop: ## run the tests that need Node.js, nginx and Chromium
	npm ci --prefix e2e/node
	go test -race -count=1 -timeout 30m -tags interop -run '^TestInterop' ./e2e/... ./mcpfacade/...

chaos: ## run the end-to-end tests in their long form
	E2E_LONG=1 go test -race -count=1 -timeout 120m -v ./e2e/...

bench: ## measure in full; run it on a quiet machine
	go run ./bench

bench-smoke: ## measure in short, to see that nothing is far off
	go run ./bench -rounds 3 -samples 30

fuzz: ## run each fuzz target for FUZZTIME (60s)
	@for package in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$package || exit 1; \
		done; \
	done
