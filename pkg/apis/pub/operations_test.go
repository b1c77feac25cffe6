package pub_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kruise.io/kruise/pkg/apis/pub"
)

// None of these names may change either.
func TestNamesOfOperationsAndPlacement(t *testing.T) {
	for want, got := range map[string]string{
		"crr.apps.kruise.io/pod-uid":                                   pub.ContainerRecreateRequestPodUIDKey,
		"crr.apps.kruise.io/node-name":                                 pub.ContainerRecreateRequestNodeNameKey,
		"crr.apps.kruise.io/active":                                    pub.ContainerRecreateRequestActiveKey,
		"crr.apps.kruise.io/sync-container-statuses":                   pub.ContainerRecreateRequestSyncContainerStatusesKey,
		"crr.apps.kruise.io/unready-acquired":                          pub.ContainerRecreateRequestUnreadyAcquiredKey,
		"type":                                                         pub.NodeTypeKey,
		"virtual-kubelet":                                              pub.NodeTypeVirtualKubelet,
		"apps.kruise.io/matched-workloadspread":                        pub.MatchedWorkloadSpreadKey,
		"workloadspread.kruise.io/ignore-patch-existing-pods-metadata": pub.IgnorePatchExistingPodsMetadataKey,
		"kruise.io/auto-generate-persistent-pod-state":                 pub.AutoGeneratePersistentPodStateKey,
		"kruise.io/required-persistent-topology":                       pub.RequiredPersistentTopologyKey,
		"kruise.io/preferred-persistent-topology":                      pub.PreferredPersistentTopologyKey,
		"kruise.io/persistent-pod-annotations":                         pub.PersistentPodAnnotationsKey,
		"kruise.io/injected-persistent-pod-state":                      pub.InjectedPersistentPodStateKey,
		"kruise.io/resourcedistribution.resource.from":                 pub.ResourceDistributedFromKey,
		"kruise.io/resourcedistribution.resource.hashcode":             pub.ResourceDistributionHashKey,
		"kruise-configuration":                                         pub.ConfigurationName,
		"WorkloadSpread_Watch_Custom_Workload_WhiteList":               pub.WorkloadSpreadWorkloadsKey,
		"PPS_Watch_Custom_Workload_WhiteList":                          pub.PersistentPodStateWorkloadsKey,
	} {
		require.Equal(t, want, got)
	}
}
