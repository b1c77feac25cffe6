#!/usr/bin/env bash
# Runs the long tests in which something fails:
#   - one budget is asked for 10,000 disruptions, while an apiserver and the leader of etcd stop and return;
#   - the embedded store is killed 100 times in the middle of writes;
#   - one of two apiservers ends, 8 times, while clients write and watch;
#   - certificates and their authorities are rotated while clients write: front proxy, users, serving certificate, client of etcd;
#   - one of three members of etcd is lost, then its disk, and the leader is killed 20 times;
#   - one tenant fills etcd, or the embedded store; one user creates 10,000 objects, and objects of a megabyte;
#   - the network between kube-apiserver and the apiserver is slow, lossy and cut;
#   - the controller is killed at random times during 50 rollouts, on the local cluster with simulated Pods;
#   - containers are restarted 1,000 times, also while servers stop and a node reboots;
#   - the store, all programs, the APIServices and the installation are taken away from 200 Pods;
#   - two apiservers restart one after the other, 20 times.
# The script stops the local cluster at the end, unless the cluster ran before. usage: fault.sh [go test flags]
set -euo pipefail
cd "$(dirname "$0")/.."

tests='TestBudgetsAreLinearizable|TestAcknowledgedWritesSurviveKills|UnderLoad$|TestEtcdMembersAreLost'
tests+='|TestTenantFillsEtcd|TestFullEmbeddedStoreRefusesCreationsAndRecovers|TestOneUserDoesNotBlockOthers|TestBadNetworkDelaysNobodyElse'
go test -tags 'integration fault' -count=1 -timeout 40m -v -run "$tests" ./test/integration/

if [[ ! -e .local/kubeconfig ]]; then
  trap 'go run ./hack/local down' EXIT
fi
KWOK_NODES=${KWOK_NODES:-3} go run ./hack/local up
export KUBECONFIG=$PWD/.local/kubeconfig KUBECTL=$PWD/.local/bin/kubectl
tests='TestControllerIsKilledDuringRollouts|TestThousandRestarts|TestRestartsOutliveTheirServers|TestRestartsUnderTheStockBackOff'
tests+='|TestRestartOnANodeThatReboots|TestOutages|TestReplicasRestartOneByOne'
go test -tags 'e2e fault' -count=1 -timeout 90m -v -run "$tests" "$@" ./test/e2e/
