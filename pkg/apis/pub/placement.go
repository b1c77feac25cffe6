package pub

// Annotations of WorkloadSpreads and PersistentPodStates, of their workloads and their Pods.
const (
	// MatchedWorkloadSpreadKey says on a Pod which subset of which WorkloadSpread it belongs to, as JSON.
	MatchedWorkloadSpreadKey = "apps.kruise.io/matched-workloadspread"
	// IgnorePatchExistingPodsMetadataKey, when "true" on a WorkloadSpread, does not patch
	// the labels and annotations of Pods that existed before it.
	IgnorePatchExistingPodsMetadataKey = "workloadspread.kruise.io/ignore-patch-existing-pods-metadata"
	// AutoGeneratePersistentPodStateKey, when "true" on a workload, creates a
	// PersistentPodState for it.
	AutoGeneratePersistentPodStateKey = "kruise.io/auto-generate-persistent-pod-state"
	// RequiredPersistentTopologyKey lists the required node labels of that
	// PersistentPodState, separated by commas.
	RequiredPersistentTopologyKey = "kruise.io/required-persistent-topology"
	// PreferredPersistentTopologyKey lists the preferred node labels, separated by commas.
	PreferredPersistentTopologyKey = "kruise.io/preferred-persistent-topology"
	// PersistentPodAnnotationsKey lists the annotations to record, separated by commas.
	PersistentPodAnnotationsKey = "kruise.io/persistent-pod-annotations"
	// PersistentPodStateSourceKey, on a generated PersistentPodState, holds the annotations of
	// the workload from which its spec was last written.
	PersistentPodStateSourceKey = "kruise.io/persistent-pod-state-source"
	// InjectedPersistentPodStateKey names the PersistentPodState that was applied to a Pod.
	InjectedPersistentPodStateKey = "kruise.io/injected-persistent-pod-state"
)

// Annotations and a label of the copies of a ResourceDistribution.
const (
	// DistributedCopyKey is the label that all copies have, so that they can be watched alone.
	DistributedCopyKey = "kruise.io/resourcedistribution.copy"
	// ResourceDistributedFromKey names the ResourceDistribution.
	ResourceDistributedFromKey = "kruise.io/resourcedistribution.resource.from"
	// ResourceDistributionHashKey is the SHA-256 of its spec.resource, in hexadecimal.
	ResourceDistributionHashKey = "kruise.io/resourcedistribution.resource.hashcode"
)

// The ConfigMap in the system namespace with which the administrator allows more kinds of workloads.
const (
	// ConfigurationName is its name.
	ConfigurationName = "kruise-configuration"
	// WorkloadSpreadWorkloadsKey is the key of the kinds that a WorkloadSpread may have as target.
	WorkloadSpreadWorkloadsKey = "WorkloadSpread_Watch_Custom_Workload_WhiteList"
	// PersistentPodStateWorkloadsKey is the key of the kinds that a PersistentPodState may
	// have as target.
	PersistentPodStateWorkloadsKey = "PPS_Watch_Custom_Workload_WhiteList"
)
