package fuzzer

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/pub"
)

var sidecarSet = []any{
	fuzzSidecarSetSpec, fuzzSidecarSetUpdateStrategy, fuzzSidecarContainer, fuzzInjectRevision, fuzzPatchPodMetadata,
	fuzzSidecarSet, fuzzV1alpha1SidecarSet,
}

// fuzzSidecarSet adds a label that agrees with the custom version to half of all SidecarSets.
func fuzzSidecarSet(set *apps.SidecarSet, c randfill.Continue) {
	c.FillNoCustom(set)
	if c.Bool() {
		set.Labels = put(set.Labels, pub.SidecarSetCustomVersionKey, set.Spec.CustomVersion)
	}
}

func fuzzSidecarSetSpec(spec *apps.SidecarSetSpec, c randfill.Continue) {
	c.FillNoCustom(spec)
	spec.RevisionHistoryLimit = new(ptr.Deref(spec.RevisionHistoryLimit, 10))
	if c.Bool() {
		spec.Namespace = ""
	}
}

func fuzzSidecarSetUpdateStrategy(strategy *apps.SidecarSetUpdateStrategy, c randfill.Continue) {
	c.FillNoCustom(strategy)
	strategy.Type = apps.NotUpdateSidecarSetStrategyType
	if c.Bool() {
		strategy.Type = apps.RollingUpdateSidecarSetStrategyType
	}
	strategy.Partition = new(ptr.Deref(strategy.Partition, intstr.FromInt32(0)))
	strategy.MaxUnavailable = new(ptr.Deref(strategy.MaxUnavailable, intstr.FromInt32(1)))
}

// fuzzSidecarContainer leaves no field empty that has a default.
func fuzzSidecarContainer(container *apps.SidecarContainer, c randfill.Continue) {
	c.FillNoCustom(container)
	container.PodInjectPolicy = apps.AfterAppContainerType
	container.UpgradeStrategy.UpgradeType = apps.SidecarContainerHotUpgrade
	container.ShareVolumePolicy.Type = apps.ShareVolumePolicyEnabled
	if devices := container.ShareVolumeDevicePolicy; devices != nil {
		devices.Type = apps.ShareVolumePolicyDisabled
	}
	for i := range container.TransferEnv {
		if from := container.TransferEnv[i].SourceContainerNameFrom; from != nil && from.FieldRef != nil {
			from.FieldRef.APIVersion = "v1"
		}
	}
	if policy := container.ResourcesPolicy; policy != nil {
		policy.TargetContainersNameRegex = new(ptr.Deref(policy.TargetContainersNameRegex, ".*"))
	}
}

func fuzzInjectRevision(revision *apps.SidecarSetInjectRevision, c randfill.Continue) {
	c.FillNoCustom(revision)
	revision.Policy = apps.PartialSidecarSetInjectRevisionPolicy
}

func fuzzPatchPodMetadata(patch *apps.SidecarSetPatchPodMetadata, c randfill.Continue) {
	c.FillNoCustom(patch)
	patch.PatchPolicy = apps.SidecarSetMergePatchJSONPatchPolicy
}

// fuzzV1alpha1SidecarSet adds the label that the hub has a field for.
func fuzzV1alpha1SidecarSet(set *v1alpha1.SidecarSet, c randfill.Continue) {
	c.FillNoCustom(set)
	if c.Bool() {
		versions := []string{"v1", "", "Not a label"}
		set.Labels = put(set.Labels, pub.SidecarSetCustomVersionKey, versions[c.Intn(len(versions))])
	}
}
