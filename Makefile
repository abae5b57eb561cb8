# `make help` lists what there is. CI runs these targets and nothing else (.ci/run).
SHELL := /bin/bash
.DEFAULT_GOAL := help

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS  := -s -w -X github.com/askbus/askbus/internal/cli.version=$(VERSION)
BIN      ?= bin/askbus
PGO      ?=
IMAGE    ?= askbus:dev
IMAGEDIR ?= bin/image
FUZZTIME ?= 10s
COUNT    ?= 6
BASELINE ?= bench/baseline.txt
ARGS     ?=
TAGS     ?=

# Go's cache of compiled packages names the directory of a checkout, unless paths are trimmed: every clone and worktree
# would compile all packages again.
# And what is tested is what is released, without C; another CGO_ENABLED would compile most packages a second time.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath $(filter-out -trimpath,$(shell go env GOFLAGS 2>/dev/null))

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/askbus (BIN), one static binary; PGO=cmd/askbus/release.pgo: as releases are built, which compiles everything again
	$(if $(GOOS),GOOS=$(GOOS) )go build $(if $(PGO),-pgo=$(PGO) )-ldflags "$(LDFLAGS)" -o $(BIN) ./cmd/askbus

.PHONY: profile
profile: ## measure the cycle again, and write the profile with which releases are built (PGO)
	go run ./cmd/askbus-lab bench --in-flight 1,16,64,256 --rounds 4 --round 1500ms --cpu-profile cmd/askbus/release.pgo

.PHONY: test
test: ## run all tests; installs what they need (root) or says what to install; ASKBUS_SLOW=1: those of minutes, too
	@hack/deps
	@hack/test $(if $(ASKBUS_SLOW),-tags slow -timeout 20m)

.PHONY: race
race: ## run all tests again under the race detector
	@hack/deps race
	@CGO_ENABLED=1 hack/test -race

.PHONY: fuzz
fuzz: ## fuzz every target for FUZZTIME (10s) each
	@hack/fuzz $(FUZZTIME)

.PHONY: bench
bench: ## run the Go benchmarks COUNT (6) times and compare them with BASELINE (bench/baseline.txt)
	@mkdir -p bin
	go test -run '^$$' -bench . -benchmem -count $(COUNT) ./... | tee bin/bench.txt
	@go -C tools tool benchstat $(if $(wildcard $(BASELINE)),$(abspath $(BASELINE))) $(CURDIR)/bin/bench.txt

.PHONY: baseline
baseline: ## make the last run of bench the BASELINE that the next ones are compared with
	cp bin/bench.txt $(BASELINE)

.PHONY: agents
agents: build ## run the real agents against askbus (npm, tmux, 2 GB in bin/agents), and write the table of docs/agents-tried.md
	node interop/agents/run.mjs $(BIN)

.PHONY: agents-check
agents-check: ## fail if what the real agents use has changed since the last run of agents
	node interop/agents/run.mjs --check

.PHONY: lint
lint: ## lint everything, and prove that the rules fire
	@hack/lint

.PHONY: fmt
fmt: ## format everything
	@hack/lint -fix

.PHONY: tidy
tidy: ## tidy the go.mod of every module
	@hack/modules | while read -r module; do (set -x; go -C "$$module" mod tidy) || exit; done

.PHONY: generate
generate: ## write every generated file again
	@go generate ./...
	@go -C tools run ./adrindex -dir ../docs/adr
	@go -C tools run ./rooms -repo .. draw
	@go -C tools/deploytest run ./chartdoc

.PHONY: check
check: ## everything that CI runs
	@.ci/run

.PHONY: up
up: image ## start docker-compose.yml (three servers, two brokers, inbox, gateway; Slack when its token is set), and print a link to the inbox
	docker compose $(if $(ASKBUS_SLACK_BOT_TOKEN),--profile slack) up --detach --wait
	@docker compose exec -T web /askbus login --output text

.PHONY: down
down: ## stop docker-compose.yml; the volumes stay
	docker compose --profile "*" down

.PHONY: image
image: image-files ## build the container image IMAGE (askbus:dev)
	docker build --tag $(IMAGE) --file deploy/Dockerfile $(IMAGEDIR)

.PHONY: image-files
image-files: ## build what the image holds, in bin/image (IMAGEDIR)
	rm -rf $(IMAGEDIR) && mkdir -p $(IMAGEDIR)/data
	@$(MAKE) --no-print-directory build GOOS=linux BIN=$(IMAGEDIR)/askbus

.PHONY: footprint
footprint: build ## print the size of bin/askbus, and what a command costs before its work
	@go -C tools run ./footprint $(abspath $(BIN))

.PHONY: packages
packages: ## pack the packages for TypeScript and Python in bin/packages, and print their sizes
	@hack/packages bin/packages $(VERSION)

.PHONY: release
release: ## build everything that a release has, in bin/release; publishes nothing (VERSION=v0.1.0)
	@hack/release $(VERSION)

.PHONY: chart
chart: ## render charts/askbus and check the manifests against the Kubernetes types
	go -C tools/deploytest test -count=1 ./...

.PHONY: torture
torture: ## run the fault driver with ARGS; TAGS=sabotage: a build that can break promises on purpose
	go run $(if $(TAGS),-tags $(TAGS)) ./cmd/askbus-lab torture $(ARGS)

# Packages without servers, browsers and processes.
QUICK := ./pkg/ask/... ./pkg/dialect/... ./internal/asking/acp/... ./internal/process/backoff/... ./internal/protocol/cloudevent/... ./internal/process/config/... ./internal/server/identity/... \
	./internal/asking/install/... ./internal/protocol/lifecycle/... ./pkg/card/... ./internal/answering/prompt/... ./internal/lab/fakeslack/... ./internal/protocol/subject/... \
	./internal/asking/transcript/... ./internal/answering/tui/... ./internal/protocol/wire/...

.PHONY: screenshots
screenshots: ## take docs/images, the pictures of the inbox, in a real Chromium
	hack/screenshots

.PHONY: quick
quick: ## before a commit: build, vet and the tests that need no server, under two minutes
	go build ./...
	go vet ./...
	go test $(QUICK)

.PHONY: newest-nats
newest-nats: ## run the tests against the newest nats-server and nats.go, in a copy of this tree
	@rm -rf bin/newest && mkdir -p bin/newest && git ls-files -z | xargs -0 cp --parents --target-directory bin/newest
	cd bin/newest && go get github.com/nats-io/nats-server/v2@latest github.com/nats-io/nats.go@latest && go mod tidy && go list -m github.com/nats-io/nats-server/v2 github.com/nats-io/nats.go
	go -C bin/newest test $(if $(ARGS),$(ARGS),./internal/bus/ledger/... ./internal/server/natsd/... ./internal/bus/broker/... ./internal/bus/state/... ./pkg/client/... ./pkg/responder/... ./pkg/board/...)
