#!/usr/bin/env bash
# Kills the controller at random moments during 50 rollouts on the local cluster, whose Pods are simulated ones. Restarts
# containers of real ones 1,000 times, and while servers end and a node reboots. Before, asks for 10,000 disruptions of Pods
# under one budget, while an apiserver and the leader of etcd end and come back.
# The cluster goes at the end unless it was up before. usage: fault.sh [go test flags]
set -euo pipefail
cd "$(dirname "$0")/.."

go test -tags 'integration fault' -count=1 -timeout 20m -v -run TestBudgetsAreLinearizable ./test/integration/

if [[ ! -e .local/kubeconfig ]]; then
  trap 'go run ./hack/local down' EXIT
fi
KWOK_NODES=${KWOK_NODES:-3} go run ./hack/local up
export KUBECONFIG=$PWD/.local/kubeconfig KUBECTL=$PWD/.local/bin/kubectl
go test -tags 'e2e fault' -count=1 -timeout 30m -v -run 'TestControllerIsKilledDuringRollouts|TestThousandRestarts|TestRestartsOutliveTheirServers|TestRestartsUnderTheStockBackOff|TestRestartOnANodeThatReboots' "$@" ./test/e2e/
