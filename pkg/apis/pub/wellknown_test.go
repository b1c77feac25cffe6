package pub_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kruise.io/kruise/pkg/apis/pub"
)

// Stored objects and other programs contain these names, so they must not change.
func TestWellKnownNames(t *testing.T) {
	for want, got := range map[string]string{
		"apps.kruise.io/cloneset-instance-id":                      pub.CloneSetInstanceIDKey,
		"apps.kruise.io/specified-delete":                          pub.SpecifiedDeleteKey,
		"apps.kruise.io/subset-name":                               pub.SubsetNameKey,
		"apps.kruise.io/united-deployment-reserved-pod":            pub.ReservedPodKey,
		"apps.kruise.io/subset-patch":                              pub.SubsetPatchKey,
		"apps.kruise.io/revision-data-version":                     pub.RevisionDataVersionKey,
		"apps.kruise.io/controller-revision-hash":                  pub.KruiseControllerRevisionHashKey,
		"controller-revision-hash":                                 pub.ControllerRevisionHashKey,
		"pod-template-hash":                                        pub.PodTemplateHashKey,
		"controller.kubernetes.io/hash":                            pub.ControllerRevisionDataHashKey,
		"lifecycle.apps.kruise.io/state":                           pub.LifecycleStateKey,
		"apps.kruise.io/pre-predownload-created":                   pub.ImagePreDownloadCreatedKey,
		"apps.kruise.io/image-predownload-ignored":                 pub.ImagePreDownloadIgnoredKey,
		"policy.kruise.io/delete-protection":                       pub.DeletionProtectionKey,
		"apps.kruise.io/cloneset-scaling-exclude-preparing-delete": pub.CloneSetScalingExcludePreparingDeleteKey,
		"unavailable-pod.kruise.io/":                               pub.UnavailablePodKeyPrefix,
		"Always":                                                   pub.DeletionProtectionAlways,
		"Cascading":                                                pub.DeletionProtectionCascading,
		"lifecycle.apps.kruise.io/timestamp":                       pub.LifecycleTimestampKey,
		"apps.kruise.io/inplace-update-state":                      pub.InPlaceUpdateStateKey,
		"inplace-update-state":                                     pub.InPlaceUpdateStateKeyOld,
		"apps.kruise.io/inplace-update-grace":                      pub.InPlaceUpdateGraceKey,
		"inplace-update-grace":                                     pub.InPlaceUpdateGraceKeyOld,
		"apps.kruise.io/runtime-containers-meta":                   pub.RuntimeContainerMetaKey,
		"apps.kruise.io/container-launch-priority":                 pub.ContainerLaunchPriorityKey,
		"apps.kruise.io/container-launch-priority-completed":       pub.ContainerLaunchCompletedKey,
		"apps.kruise.io/container-launch-priority-opened":          pub.ContainerLaunchOpenedKey,
		"Ordered": pub.ContainerLaunchOrdered,
		"apps.kruise.io/image-predownload-parallelism":            pub.ImagePreDownloadParallelismKey,
		"apps.kruise.io/image-predownload-timeout-seconds":        pub.ImagePreDownloadTimeoutSecondsKey,
		"apps.kruise.io/image-predownload-min-updated-ready-pods": pub.ImagePreDownloadMinUpdatedReadyPodsKey,
		"kruise.io/cloneset-claim-templates-sum":                  pub.CloneSetClaimTemplatesSumKey,
		"kruise.io/cloneset-volumeclaimtemplate-hash":             pub.CloneSetVolumeClaimTemplateHashKey,
		"daemonset.kruise.io/progressive-create-pod":              pub.DaemonSetProgressiveCreatePodKey,
		"controller.kubernetes.io/pod-deletion-cost":              pub.PodDeletionCostKey,
		"kruise.io/pub-protect-operations":                        pub.PubProtectOperationsKey,
		"pub.kruise.io/protect-total-replicas":                    pub.PubProtectTotalReplicasKey,
		"kruise.io/related-pub":                                   pub.RelatedPubKey,
		"pub.kruise.io/related-pub":                               pub.RelatedPubKeyNew,
		"pub.kruise.io/no-protect":                                pub.PubNoProtectKey,
		"policy.kruise.io/pod-unavailable-budgets":                pub.BudgetNamespaceKey,
		"kruise.io/sidecarset-injected-list":                      pub.SidecarSetInjectedListKey,
		"kruise.io/sidecarset-inplace-update-state":               pub.SidecarSetInPlaceUpdateStateKey,
		"IS_INJECTED":               pub.SidecarInjectedEnv,
		"KRUISE_CONTAINER_PRIORITY": pub.ContainerLaunchPriorityEnv,
		"KRUISE_CONTAINER_BARRIER":  pub.ContainerLaunchBarrierEnv,
		"SIDECARSET_VERSION":        pub.SidecarSetVersionEnv,
		"SIDECARSET_VERSION_ALT":    pub.SidecarSetVersionAltEnv,
		"KruisePodReady":            pub.KruisePodReadyConditionType,
		"InPlaceUpdateReady":        pub.InPlaceUpdateReadyConditionType,
		"PreparingNormal":           string(pub.LifecycleStatePreparingNormal),
		"Normal":                    string(pub.LifecycleStateNormal),
		"PreparingUpdate":           string(pub.LifecycleStatePreparingUpdate),
		"Updating":                  string(pub.LifecycleStateUpdating),
		"Updated":                   string(pub.LifecycleStateUpdated),
		"PreparingDelete":           string(pub.LifecycleStatePreparingDelete),
		"ReCreate":                  string(pub.ReCreatePodUpdatePolicy),
		"InPlaceIfPossible":         string(pub.InPlaceIfPossiblePodUpdatePolicy),
		"InPlaceOnly":               string(pub.InPlaceOnlyPodUpdatePolicy),
	} {
		require.Equal(t, want, got)
	}
}
