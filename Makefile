# The one-line help of each target is the text after "##".

.DEFAULT_GOAL := help
LOCAL := go run ./hack/local
# Tests and programs are compiled with the same flags, so that Go compiles each package only once.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)

.PHONY: help
help: ## Show this help.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: up
up: ## Start a real cluster on this machine, install Kruise and run the example (NODES=3, KWOK_NODES=0, K8S_VERSION, CONTAINERD=2, CHART_VALUES).
	@$(LOCAL) up

.PHONY: down
down: ## Stop the cluster of "up" and clean up after it.
	@$(LOCAL) down

.PHONY: deploy
deploy: ## Install in the cluster of KUBECONFIG. Clusters other than that of "up" pull IMAGE_REPOSITORY/<program>:IMAGE_TAG.
	@$(LOCAL) deploy

.PHONY: images
images: ## Write the OCI images of the programs to .local/images/<program>.tar.
	@$(LOCAL) images

.PHONY: build
build: ## Build the three programs and the plugin of kubectl into bin.
	@go run ./hack/release build

.PHONY: release
release: ## Write programs, images, chart, SBOMs and checksums to .local/release (VERSION, RELEASE_ARCHS=amd64,arm64).
	@go run ./hack/release

.PHONY: test-release
test-release: release ## Write the release, and install its chart and images in a local cluster with Helm.
	go test -tags 'e2e release' -count=1 -timeout 15m -v -run TestReleaseIsInstalled ./hack/local/

.PHONY: binaries
binaries: ## Build missing programs of the cluster, kubectl and helm into .local/bin.
	@$(LOCAL) binaries

.PHONY: test
test: ## Install what is needed and run the tests: unit, API, integration, and e2e on a real cluster.
	@hack/test.sh

.PHONY: unit
unit: ## Run the tests that do not need a cluster.
	go test ./...

.PHONY: integration
integration: binaries ## Test the apiserver with a real etcd, kube-apiserver and kube-controller-manager.
	@hack/test-integration.sh

.PHONY: e2e
e2e: binaries ## Test the local cluster itself, then run the e2e suite on it. A cluster that this starts is stopped at the end.
	go test -tags e2e -count=1 -timeout 15m ./hack/...
	@hack/test-e2e.sh

.PHONY: versions
versions: ## Run the integration and e2e tests on Kubernetes 1.30, 1.32, 1.34 and 1.35.
	@hack/versions.sh

.PHONY: skew
skew: binaries ## Run the apiserver of another revision with the controller of this one, and the other way round (REVISION).
	@hack/skew.sh $(REVISION)

.PHONY: fault
fault: binaries ## Run the long tests in which programs, stores and networks fail. A cluster that this starts is stopped at the end.
	@hack/fault.sh

.PHONY: bench
bench: export KWOK_NODES ?= 5
bench: up ## Compare with built-in kinds and custom resources, and measure the controller at scale (FLAGS, such as "-parts statefulset").
	KUBECONFIG=.local/kubeconfig go run -tags bench ./test/benchmark $(FLAGS)
	$(if $(findstring growth,$(FLAGS)),cd test/benchmark/plot && go run . ../../../docs/scale)

.PHONY: fuzz
fuzz: ## Run more round trips and simulations than "unit", and each fuzz target for a minute.
	@hack/fuzz.sh

.PHONY: race
race: ## Run the tests of packages with goroutines under the race detector.
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
verify: ## Check generated files, names of folders and tests, and the packages that clients and the node agent link.
	hack/verify-codegen.sh
	hack/verify-manifests.sh
	hack/verify-client-deps.sh
	hack/verify-agent-deps.sh
	hack/verify-names.sh
	hack/verify-modules.sh
