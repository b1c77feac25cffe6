#!/usr/bin/env bash
# Runs the e2e suite on the cluster of "make up". usage: test-e2e.sh [go test flags]
# Beside the real nodes there is a simulated one, so that KWOK runs for those that tests make.
# The cluster goes at the end unless it was up before; after a failure its logs stay in .local/log.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ! -e .local/kubeconfig ]]; then
  trap 'go run ./hack/local down' EXIT
fi
KWOK_NODES=${KWOK_NODES:-1} go run ./hack/local up
export KUBECONFIG=$PWD/.local/kubeconfig KUBECTL=$PWD/.local/bin/kubectl
go test -tags e2e -count=1 -timeout 25m -parallel 6 "$@" ./test/e2e/
