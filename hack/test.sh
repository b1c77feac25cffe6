#!/usr/bin/env bash
# Runs the tests that a change must pass. It needs only a fresh clone, and installs what is missing on the machine.
set -euo pipefail
cd "$(dirname "$0")/.."

# The linter runs go vet. Without it here, the tests are compiled in four fifths of the time.
export GOFLAGS="${GOFLAGS:-} -vet=off"

began=$SECONDS
step() { printf '\n== %s (%d s so far)\n' "$*" $((SECONDS - began)); }

step "programs of the cluster"
go run ./hack/local binaries
step "unit and API tests"
go test -timeout 20m ./...
step "packages that clients and the node agent link"
hack/verify-client-deps.sh
hack/verify-agent-deps.sh
step "alert rules and dashboards"
hack/test-monitoring.sh
step "plots of the benchmark"
(cd test/benchmark/plot && go test ./...)
step "integration tests"
hack/test-integration.sh
step "the node agent with a real containerd"
go test -tags containerd -count=1 ./pkg/nodeagent/... ./cmd/node-agent/...
step "e2e tests on the real cluster"
hack/test-e2e.sh
step "done"
