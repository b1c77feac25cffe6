#!/usr/bin/env bash
# Runs the tests that a change must pass. It needs only a fresh clone, and installs what is missing on the machine.
set -euo pipefail
cd "$(dirname "$0")/.."

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
step "the node agent with a real containerd"
go test -tags containerd -count=1 ./pkg/nodeagent/... ./cmd/node-agent/...
# The integration tests have a cluster of their own. They run while the first e2e tests do, which stop servers one at a time and mostly wait.
step "integration tests, in the background"
integration=$(mktemp)
set -m # The tests are a process group, which can be ended as a whole.
hack/test-integration.sh >"$integration" 2>&1 &
pid=$!
set +m
trap 'kill -- -"$pid" 2>/dev/null || true; rm -f "$integration"' EXIT
step "e2e tests on the real cluster"
failed=0
hack/test-e2e.sh || failed=1
step "the result of the integration tests"
if wait "$pid"; then
  tail -n 1 "$integration"
else
  failed=1
  cat "$integration"
fi
((failed == 0)) || exit 1
step "done"
