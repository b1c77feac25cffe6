#!/usr/bin/env bash
# Runs the e2e suite on the cluster of "make up". usage: test-e2e.sh [go test flags]
# The cluster has one simulated node, so that KWOK runs for the nodes that tests create.
# The metrics of the programs are recorded in .local/metrics. The alert rules and the dashboards are tested with them.
# The script stops the cluster at the end, unless the cluster ran before. After a failure, the logs are in .local/log.
set -euo pipefail
cd "$(dirname "$0")/.."
# The programs of the cluster may use more memory, which saves processor time.
export GOGC=300

if [[ ! -e .local/kubeconfig ]]; then
  trap 'go run ./hack/local down' EXIT
fi
KWOK_NODES=${KWOK_NODES:-1} go run ./hack/local up
rm -rf .local/metrics
export METRICS_RECORDING=$PWD/.local/metrics KUBECONFIG=$PWD/.local/kubeconfig KUBECTL=$PWD/.local/bin/kubectl
hack/gotest.sh -tags e2e -count=1 -timeout 90m -parallel 6 "$@" ./test/e2e/
if (($# == 0)); then
  hack/test-monitoring.sh -count=1 -v -run Suite
fi
