package v1alpha1

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
)

// Convert_v1alpha1_UnitedDeploymentStatus_To_apps_UnitedDeploymentStatus reads the replicas and the partitions of subsets also from
// the maps that only v1alpha1 has. An older status has nothing else.
func Convert_v1alpha1_UnitedDeploymentStatus_To_apps_UnitedDeploymentStatus(
	in *UnitedDeploymentStatus, out *apps.UnitedDeploymentStatus, s conversion.Scope,
) error {
	if err := autoConvert_v1alpha1_UnitedDeploymentStatus_To_apps_UnitedDeploymentStatus(in, out, s); err != nil {
		return err
	}
	partitions := map[string]int32{}
	if in.UpdateStatus != nil {
		out.UpdatedRevision, partitions = in.UpdateStatus.UpdatedRevision, in.UpdateStatus.CurrentPartitions
	}
	listed := map[string]bool{}
	for i := range in.SubsetStatuses {
		listed[in.SubsetStatuses[i].Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(in.SubsetReplicas)) {
		if !listed[name] {
			out.SubsetStatuses = append(out.SubsetStatuses, apps.UnitedDeploymentSubsetStatus{
				Name: name, Replicas: in.SubsetReplicas[name], Partition: partitions[name],
			})
		}
	}
	return nil
}

// Convert_apps_UnitedDeploymentStatus_To_v1alpha1_UnitedDeploymentStatus is the inverse. Every subset is in both maps.
func Convert_apps_UnitedDeploymentStatus_To_v1alpha1_UnitedDeploymentStatus(
	in *apps.UnitedDeploymentStatus, out *UnitedDeploymentStatus, s conversion.Scope,
) error {
	if err := autoConvert_apps_UnitedDeploymentStatus_To_v1alpha1_UnitedDeploymentStatus(in, out, s); err != nil {
		return err
	}
	if in.UpdatedRevision == "" && len(in.SubsetStatuses) == 0 {
		return nil
	}
	out.UpdateStatus = &UpdateStatus{UpdatedRevision: in.UpdatedRevision}
	if len(in.SubsetStatuses) == 0 {
		return nil
	}
	out.SubsetReplicas, out.UpdateStatus.CurrentPartitions = map[string]int32{}, map[string]int32{}
	for i := range in.SubsetStatuses {
		subset := &in.SubsetStatuses[i]
		out.SubsetReplicas[subset.Name], out.UpdateStatus.CurrentPartitions[subset.Name] = subset.Replicas, subset.Partition
	}
	return nil
}
