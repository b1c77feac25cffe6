package pub_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kruise.io/kruise/pkg/apis/pub"
)

// Stored objects and running Pods contain these names, so they must not change.
func TestWellKnownNamesOfSidecars(t *testing.T) {
	for want, got := range map[string]string{
		"apps.kruise.io/sidecarset-custom-version":          pub.SidecarSetCustomVersionKey,
		"kruise.io/sidecarset-name":                         pub.SidecarSetNameKey,
		"kruise.io/sidecarset-hash":                         pub.SidecarSetHashKey,
		"kruise.io/sidecarset-hash-without-image":           pub.SidecarSetHashWithoutImageKey,
		"apps.kruise.io/sidecarset-canary":                  pub.SidecarSetCanaryKey,
		"apps.kruise.io/sidecarset-base":                    pub.SidecarSetBaseKey,
		"apps.kruise.io/sidecarset-injects-since":           pub.SidecarSetInjectsSinceKey,
		"apps.kruise.io/pod-creation":                       pub.PodCreationKey,
		"ignored":                                           pub.PodCreationIgnored,
		"apps.kruise.io/sidecarsets":                        pub.PodCreationKeyOld,
		"kruise.io/sidecarset-working-hotupgrade-container": pub.SidecarSetWorkingContainersKey,
		"version.sidecarset.kruise.io/":                     pub.SidecarSetVersionKeyPrefix,
		"versionalt.sidecarset.kruise.io/":                  pub.SidecarSetVersionAltKeyPrefix,
		"UpdateImmutableField":                              pub.SidecarSetUpdateImmutableField,
		"AllSidecarsetUpgradable":                           pub.SidecarSetAllUpgradable,
		"apps.kruise.io/ephemeralcontainers-cleanup":        pub.EphemeralContainersCleanupFinalizer,
		"kruise.io/node-pod-probe-cleanup":                  pub.NodePodProbeCleanupFinalizer,
		"kruise.io/podprobe":                                pub.PodProbeKey,
		"kruise.io/podprobemarker-list":                     pub.PodProbeMarkerListKey,
		"SidecarSetUpgradable":                              pub.SidecarSetUpgradableConditionType,
		"SidecarTerminated":                                 pub.SidecarTerminatedConditionType,
		"KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT":            pub.TerminateSidecarEnv,
		"KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT_WITH_IMAGE": pub.TerminateSidecarWithImageEnv,
		"KRUISE_TERMINATE_SIDECAR_IGNORE_EXIT_CODE":         pub.TerminateSidecarIgnoreExitCodeEnv,
		"KRUISE_EJOB_ID":                                    pub.EphemeralJobIDEnv,
	} {
		require.Equal(t, want, got)
	}
}
