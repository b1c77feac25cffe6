#!/usr/bin/env bash
# All that a change must pass, from a fresh clone. What is missing on the machine is installed on the way.
set -euo pipefail
cd "$(dirname "$0")/.."

began=$SECONDS
step() { printf '\n== %s (%d s so far)\n' "$*" $((SECONDS - began)); }

step "programs of the cluster"
go run ./hack/local binaries
step "unit and API tests"
go test -timeout 20m ./...
step "what clients and the node agent link"
hack/verify-client-deps.sh
hack/verify-agent-deps.sh
step "integration tests"
go test -tags integration -count=1 -timeout 20m ./test/integration/
step "the node agent beside a real containerd"
go test -tags containerd -count=1 ./pkg/nodeagent/... ./cmd/node-agent/...
step "e2e tests on the real cluster"
hack/test-e2e.sh
step "done"
