# The one-line help of each target is the text after "##".

.DEFAULT_GOAL := help
LOCAL := go run ./hack/local
# Tests are compiled as the programs are, so that Go's build cache holds each package once.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)

.PHONY: help
help: ## Show this help.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: up
up: ## Start a real cluster on this machine, install Kruise and run the example (NODES=3, KWOK_NODES=0, K8S_VERSION).
	@$(LOCAL) up

.PHONY: down
down: ## End the cluster of "up" and leave nothing of it.
	@$(LOCAL) down

.PHONY: deploy
deploy: ## Install in the cluster of KUBECONFIG; other clusters than ours pull IMAGE_REPOSITORY/<program>:IMAGE_TAG.
	@$(LOCAL) deploy

.PHONY: images
images: ## Write the programs' OCI images to .local/images/<program>.tar.
	@$(LOCAL) images

.PHONY: build
build: ## Build the three programs into bin.
	@go run ./hack/release build

.PHONY: release
release: ## Write programs, images, the chart, dependencies and checksums to .local/release (VERSION, RELEASE_ARCHS=amd64,arm64).
	@go run ./hack/release

.PHONY: binaries
binaries: ## Build the cluster's programs, kubectl and helm into .local/bin, where they are missing.
	@$(LOCAL) binaries

.PHONY: test
test: ## Install what is needed and pass the tests: unit, API, integration, and e2e on a real cluster.
	@hack/test.sh

.PHONY: unit
unit: ## Run the tests that need no server.
	go test ./...

.PHONY: integration
integration: binaries ## Run the apiserver beside a real etcd, kube-apiserver and kube-controller-manager.
	go test -tags integration -count=1 -timeout 20m ./test/integration/

.PHONY: e2e
e2e: binaries ## Test the local cluster itself, then run the e2e suite on it; it goes again if it was not up.
	go test -tags e2e -count=1 -timeout 15m ./hack/...
	@hack/test-e2e.sh

.PHONY: versions
versions: ## Run the integration and e2e tests on Kubernetes 1.30, 1.32, 1.34 and 1.35.
	@hack/versions.sh

.PHONY: fault
fault: binaries ## Run the long tests in which programs, stores and networks fail. A cluster that this starts is stopped at the end.
	@hack/fault.sh

.PHONY: bench
bench: export KWOK_NODES ?= 5
bench: up ## Compare verbs and memory of CloneSets with Deployments and custom resources, then measure the controller at scale.
	KUBECONFIG=.local/kubeconfig go run -tags bench ./test/benchmark

.PHONY: fuzz
fuzz: ## Run round trips and simulated rollouts for long, and the fuzz targets for a minute each.
	@hack/fuzz.sh

.PHONY: race
race: ## Run the tests of packages that start goroutines under the race detector.
	@hack/race.sh

.PHONY: lint
lint: ## Run the linter.
	@hack/lint.sh

.PHONY: update
update: ## Generate code and manifests, and the lists of tests in docs/contract.
	hack/update-codegen.sh
	hack/update-manifests.sh
	go run ./hack/contract

.PHONY: verify
verify: ## Check that what is generated is current, names of folders and tests, and what clients and the node agent link.
	hack/verify-codegen.sh
	hack/verify-manifests.sh
	hack/verify-client-deps.sh
	hack/verify-agent-deps.sh
	hack/verify-names.sh
	hack/verify-modules.sh
