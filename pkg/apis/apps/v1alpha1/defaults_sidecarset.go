package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// SetDefaults_SidecarSetSpec fills the fields of a SidecarSet. It covers the whole spec so that nothing
// here touches what core's fields of containers and volumes default to: they are defaulted when a user
// writes the object, never when it is read. Otherwise, a newer server would change existing hashes.
// +k8s:defaulter-gen=covers
func SetDefaults_SidecarSetSpec(in *SidecarSetSpec) {
	for i := range in.InitContainers {
		setSidecarContainerDefaults(&in.InitContainers[i], AfterAppContainerType)
	}
	for i := range in.Containers {
		setSidecarContainerDefaults(&in.Containers[i], BeforeAppContainerType)
	}
	setSidecarSetUpdateStrategyDefaults(&in.UpdateStrategy)
	if revision := in.InjectionStrategy.Revision; revision != nil && revision.Policy == "" {
		revision.Policy = AlwaysSidecarSetInjectRevisionPolicy
	}
	if in.RevisionHistoryLimit == nil {
		in.RevisionHistoryLimit = ptr.To[int32](10)
	}
	for i := range in.PatchPodMetadata {
		if in.PatchPodMetadata[i].PatchPolicy == "" {
			in.PatchPodMetadata[i].PatchPolicy = SidecarSetRetainPatchPolicy
		}
	}
}

func setSidecarSetUpdateStrategyDefaults(in *SidecarSetUpdateStrategy) {
	if in.Type == "" {
		in.Type = RollingUpdateSidecarSetStrategyType
	}
	if in.Partition == nil {
		in.Partition = new(intstr.FromInt32(0))
	}
	if in.MaxUnavailable == nil {
		in.MaxUnavailable = new(intstr.FromInt32(1))
	}
}

func setSidecarContainerDefaults(in *SidecarContainer, place PodInjectPolicyType) {
	if in.PodInjectPolicy == "" {
		in.PodInjectPolicy = place
	}
	if in.UpgradeStrategy.UpgradeType == "" {
		in.UpgradeStrategy.UpgradeType = SidecarContainerColdUpgrade
	}
	if in.ShareVolumePolicy.Type == "" {
		in.ShareVolumePolicy.Type = ShareVolumePolicyDisabled
	}
	if devices := in.ShareVolumeDevicePolicy; devices != nil && devices.Type == "" {
		devices.Type = ShareVolumePolicyDisabled
	}
	for i := range in.TransferEnv {
		from := in.TransferEnv[i].SourceContainerNameFrom
		if from != nil && from.FieldRef != nil && from.FieldRef.APIVersion == "" {
			from.FieldRef.APIVersion = "v1"
		}
	}
	if in.ResourcesPolicy != nil && in.ResourcesPolicy.TargetContainersNameRegex == nil {
		in.ResourcesPolicy.TargetContainersNameRegex = new(".*")
	}
}
