package pub

// Annotations of WorkloadSpreads and PersistentPodStates, of their workloads and their Pods.
const (
	// MatchedWorkloadSpreadKey says on a Pod which subset of which WorkloadSpread it belongs to, as JSON.
	MatchedWorkloadSpreadKey = "apps.kruise.io/matched-workloadspread"
	// IgnorePatchExistingPodsMetadataKey, when "true" on a WorkloadSpread, leaves the labels and
	// annotations of Pods alone that were there before it.
	IgnorePatchExistingPodsMetadataKey = "workloadspread.kruise.io/ignore-patch-existing-pods-metadata"
	// AutoGeneratePersistentPodStateKey, when "true" on a workload, has a PersistentPodState made for it.
	AutoGeneratePersistentPodStateKey = "kruise.io/auto-generate-persistent-pod-state"
	// RequiredPersistentTopologyKey is the required labels of nodes of that PersistentPodState, with commas.
	RequiredPersistentTopologyKey = "kruise.io/required-persistent-topology"
	// PreferredPersistentTopologyKey is the preferred ones.
	PreferredPersistentTopologyKey = "kruise.io/preferred-persistent-topology"
	// PersistentPodAnnotationsKey is the remembered annotations, with commas.
	PersistentPodAnnotationsKey = "kruise.io/persistent-pod-annotations"
	// InjectedPersistentPodStateKey says on a Pod which PersistentPodState brought it back.
	InjectedPersistentPodStateKey = "kruise.io/injected-persistent-pod-state"
)

// Annotations of the copies of a ResourceDistribution.
const (
	// ResourceDistributedFromKey names the ResourceDistribution.
	ResourceDistributedFromKey = "kruise.io/resourcedistribution.resource.from"
	// ResourceDistributionHashKey is the SHA-256 of its spec.resource, in hexadecimal.
	ResourceDistributionHashKey = "kruise.io/resourcedistribution.resource.hashcode"
)

// The ConfigMap in our own namespace in which the administrator allows more kinds of workloads.
const (
	// ConfigurationName is its name.
	ConfigurationName = "kruise-configuration"
	// WorkloadSpreadWorkloadsKey is the key of the kinds that a WorkloadSpread may have as target.
	WorkloadSpreadWorkloadsKey = "WorkloadSpread_Watch_Custom_Workload_WhiteList"
	// PersistentPodStateWorkloadsKey is the key of those that a PersistentPodState may have.
	PersistentPodStateWorkloadsKey = "PPS_Watch_Custom_Workload_WhiteList"
)
