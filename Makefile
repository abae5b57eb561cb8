# `make help` lists what there is. CI runs these targets and nothing else (.ci/run).
SHELL := /bin/bash
.DEFAULT_GOAL := help

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS  := -s -w -X main.version=$(VERSION)
IMAGE    ?= askbus:dev
FUZZTIME ?= 10s
COUNT    ?= 6
BASELINE ?= bench/baseline.txt
ARGS     ?=

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/askbus, one static binary
	CGO_ENABLED=0 go build -trimpath -ldflags "$(LDFLAGS)" -o bin/askbus ./cmd/askbus

.PHONY: test
test: ## run all tests; installs what they need (root) or says what to install; ASKBUS_SLOW=1: those of minutes, too
	@hack/deps
	@hack/test $(if $(ASKBUS_SLOW),-tags slow -timeout 20m)

.PHONY: race
race: ## run all tests again under the race detector
	@hack/deps race
	@CGO_ENABLED=1 hack/test -race -count=1 -timeout 20m

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

.PHONY: check
check: ## everything that CI runs
	@.ci/run

.PHONY: up
up: image ## start docker-compose.yml
	docker compose up --detach --wait

.PHONY: down
down: ## stop docker-compose.yml; the volume stays
	docker compose down

.PHONY: image
image: ## build the container image IMAGE (askbus:dev)
	rm -rf bin/image && mkdir -p bin/image/data
	CGO_ENABLED=0 GOOS=linux go build -trimpath -ldflags "$(LDFLAGS)" -o bin/image/askbus ./cmd/askbus
	docker build --tag $(IMAGE) --file deploy/Dockerfile bin/image

.PHONY: chart
chart: ## render charts/askbus and check the manifests against the Kubernetes types
	go -C tools/deploytest test -count=1 ./...

.PHONY: torture
torture: ## run the fault driver with ARGS
	go run ./cmd/askbus torture $(ARGS)
