package uniteddeployment

import "kruise.io/kruise/pkg/apis/apps/v1beta1"

// partitionOf returns how many of a subset's replicas stay at their old revision. It is never more than the replicas, so that the
// status does not show Pods that do not exist. Without manualUpdate all Pods are updated.
func partitionOf(united *v1beta1.UnitedDeployment, subset string, replicas int32) int32 {
	manual := united.Spec.UpdateStrategy.ManualUpdate
	if manual == nil {
		return 0
	}
	return min(manual.Partitions[subset], replicas)
}
