# One-line help for every target stands after "##" beside it.

.DEFAULT_GOAL := help
LOCAL := go run ./hack/local

.PHONY: help
help: ## Show this help.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: up
up: ## Start a real cluster on this machine, install Kruise and run the example (NODES=3, KWOK_NODES=0).
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

.PHONY: binaries
binaries: ## Build the cluster's programs, kubectl and helm into .local/bin, where they are missing.
	@$(LOCAL) binaries
