#!/usr/bin/env bash
# Runs the long tests in which something fails:
#   - 2,000 Pods of a WorkloadSpread are created while an apiserver is killed;
#   - one budget is asked for 10,000 disruptions through two kube-apiservers, while an apiserver and the leader of etcd stop and return;
#   - the embedded store is killed 100 times in the middle of writes;
#   - one of two apiservers ends, 8 times, while clients write and watch;
#   - certificates and their authorities are rotated while clients write: front proxy, users, serving certificates, client of etcd;
#   - the keys of service accounts are rotated while clients write;
#   - Pods that a SidecarSet selects are created while the apiserver is slow, cut off and stopped;
#   - the operator's commands are run: snapshot, restore, and the move to an external etcd and back;
#   - one of three members of etcd is lost, then its disk, and the leader is killed 20 times;
#   - one tenant fills etcd, or the embedded store, in each way in which objects grow; one user creates 10,000 objects, and objects of a megabyte;
#   - the network between kube-apiserver and the apiserver is slow, lossy and cut;
#   - the controller is killed at random times during 50 rollouts, on the local cluster with simulated Pods;
#   - the leading controller is ended 100 times during rollouts, and the watches of its successor are three seconds late;
#   - a tenant writes the UIDs of another namespace's workloads into owner references, and sends the most expensive requests;
#   - users change, delete and create again workloads and the objects that act on their Pods, at random, while the controller is killed;
#   - a CloneSet is deleted and created again before the garbage collector has noticed that the apiserver restarted;
#   - the clock of the controller is an hour ahead, and an hour behind;
#   - controllers are killed while an AdvancedCronJob starts Jobs, while the time limits of BroadcastJobs run, while Pods of a DaemonSet
#     are created, and while an EphemeralJob adds containers;
#   - containers are restarted 1,000 times, also while servers stop and a node reboots;
#   - the store, all programs, the APIServices and the installation are taken away from 200 Pods;
#   - two apiservers restart one after the other, 20 times;
#   - a node reboots with Pods of a StatefulSet, also during an update, and while a DaemonSet is updated and another node is drained;
#   - the node of the only apiserver is lost, with a Pod that a budget governs;
#   - a DaemonSet is updated while a node is lost, and nodes with its Pods and those of BroadcastJobs are tainted;
#   - StatefulSets and DaemonSets use feature gates that are off by default;
#   - the sidecars of 1,000 simulated Pods are upgraded while their CloneSets roll out;
#   - one node runs three probes for each of 110 Pods, 500 Pods start five containers in order, the sidecars of 200 Jobs end, and
#     a tenant's restarts and probes never end. NODE_LOAD_PODS sets smaller numbers;
#   - 320 Pods stay as they are while their objects move from CustomResourceDefinitions to the apiserver and back, by commands that are
#     killed at each step. TAKEOVER_SETTLES sets a shorter time for what follows each move.
# The script stops the local cluster at the end, unless the cluster ran before. usage: fault.sh [go test flags]
set -euo pipefail
cd "$(dirname "$0")/.."

tests='TestBudgetsAreLinearizable|TestAcknowledgedWritesSurviveKills|UnderLoad$|TestEtcdMembersAreLost'
tests+='|TestTenantFillsEtcd|TestFullEmbeddedStoreRefusesCreationsAndRecovers|TestOneUserDoesNotBlockOthers|TestBadNetworkDelaysNobodyElse'
tests+='|TestPodsWithSidecarsWhileTheAPIServerIsSlowOrDown|TestStoreIsFilledInEachWay'
# The time limits are for tests that hang. Tests on a slow machine do not reach them.
hack/gotest.sh -tags 'integration fault' -count=1 -timeout 3h -v -run "$tests" ./test/integration/

if [[ ! -e .local/kubeconfig ]]; then
  trap 'go run ./hack/local down' EXIT
fi
KWOK_NODES=${KWOK_NODES:-3} go run ./hack/local up
export KUBECONFIG=$PWD/.local/kubeconfig KUBECTL=$PWD/.local/bin/kubectl
tests='TestControllerIsKilledDuringRollouts|TestControllerWithAWrongClock|TestThousandRestarts|TestRestartsOutliveTheirServers|TestRestartsUnderTheStockBackOff'
tests+='|TestDaemonSetIsUpdatedWhileANodeRebootsAndAnotherIsDrained|TestVolumesOutliveAReboot'
tests+='|TestStatefulSetIsUpdatedWhileANodeReboots|TestDaemonSetIsUpdatedWhileANodeIsLost|TestBudgetedPodOfTheLostNodeOfTheAPIServerIsReplaced|TestTaintsMoveThePodsOfNodes'
tests+='|TestWorkloadsWithTheirFeatureGates|TestCronJobsOutliveTheirController|TestBroadcastJobsOutliveTheirController'
tests+='|TestDaemonSetsOutliveTheirController|TestEphemeralJobsOutliveTheirController'
tests+='|TestRestartOnANodeThatReboots|TestOutages|TestReplicasRestartOneByOne|TestSidecarsOfThousandPodsKeepTheirBound|TestOperatorsCommands'
tests+='|TestProbesOfAFullNode|TestContainersOfManyPodsStartInOrder|TestSidecarsOfManyJobsEndSoon|TestHostileTenantDelaysNobodyElse'
tests+='|TestTakeoverKeepsPods|TestKindsShareTheirPods|TestReplacedCloneSetLeavesNoPods'
tests+='|TestLeadChangesDuringRollouts|TestTenantCannotReachOtherNamespaces|TestTenantCostsOthersNothing'
hack/gotest.sh -tags 'e2e fault' -count=1 -timeout 8h -v -run "$tests" "$@" ./test/e2e/
