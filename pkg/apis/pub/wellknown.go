package pub

// Labels. Users, other programs and objects of older releases depend on every one.
const (
	// CloneSetInstanceIDKey ties a Pod of a CloneSet to its claims.
	CloneSetInstanceIDKey = "apps.kruise.io/cloneset-instance-id"
	// SpecifiedDeleteKey marks a Pod to be deleted. Its value is ignored.
	SpecifiedDeleteKey = "apps.kruise.io/specified-delete"
	// SubsetNameKey names the subset of a UnitedDeployment.
	SubsetNameKey = "apps.kruise.io/subset-name"
	// ReservedPodKey is "true" on a Pod that a UnitedDeployment keeps in addition to its substitute in another subset, and "false" on
	// its other Pods.
	ReservedPodKey = "apps.kruise.io/united-deployment-reserved-pod"
	// KruiseControllerRevisionHashKey is the revision of children that are not plain Pods.
	KruiseControllerRevisionHashKey = "apps.kruise.io/controller-revision-hash"
	// ControllerRevisionHashKey is the revision of a Pod: its name, or its short hash.
	ControllerRevisionHashKey = "controller-revision-hash"
	// PodTemplateHashKey is the short hash of the revision of a Pod.
	PodTemplateHashKey = "pod-template-hash"
	// ControllerRevisionDataHashKey is the hash of a ControllerRevision's data.
	ControllerRevisionDataHashKey = "controller.kubernetes.io/hash"
	// LifecycleStateKey is the LifecycleStateType of a Pod.
	LifecycleStateKey = "lifecycle.apps.kruise.io/state"
	// ImagePreDownloadCreatedKey marks a ControllerRevision whose images are being pulled
	// before the update.
	ImagePreDownloadCreatedKey = "apps.kruise.io/pre-predownload-created"
	// ImagePreDownloadIgnoredKey marks a ControllerRevision whose images are not pulled
	// before the update.
	ImagePreDownloadIgnoredKey = "apps.kruise.io/image-predownload-ignored"
	// DeletionProtectionKey forbids the deletion of the object that has it.
	DeletionProtectionKey = "policy.kruise.io/delete-protection"
	// CloneSetScalingExcludePreparingDeleteKey, when "true" on a CloneSet, is the same as
	// spec.scaleStrategy.excludePreparingDelete in v1beta1.
	CloneSetScalingExcludePreparingDeleteKey = "apps.kruise.io/cloneset-scaling-exclude-preparing-delete"
	// UnavailablePodKeyPrefix begins each label that makes a Pod count as unavailable.
	UnavailablePodKeyPrefix = "unavailable-pod.kruise.io/"
)

// Values of DeletionProtectionKey.
const (
	// DeletionProtectionAlways forbids every deletion.
	DeletionProtectionAlways = "Always"
	// DeletionProtectionCascading forbids a deletion that would also delete Pods.
	DeletionProtectionCascading = "Cascading"
)

// Annotations.
const (
	// SubsetPatchKey is, on the workload of a subset of a UnitedDeployment, the patch that the subset applied to its Pod template.
	SubsetPatchKey = "apps.kruise.io/subset-patch"
	// RevisionDataVersionKey is, on a revision of a UnitedDeployment, the version of apps.kruise.io whose form its data has.
	RevisionDataVersionKey = "apps.kruise.io/revision-data-version"
	// LifecycleTimestampKey is the time at which the lifecycle state of a Pod last changed,
	// as RFC 3339.
	LifecycleTimestampKey = "lifecycle.apps.kruise.io/timestamp"
	// RestartedAtKey is the annotation of a Pod template by which users restart a workload. Its value is the time, as RFC 3339. A workload
	// that updates its Pods in place restarts their containers. It is the annotation of kubectl rollout restart.
	RestartedAtKey = "kubectl.kubernetes.io/restartedAt"
	// InPlaceUpdateStateKey records an in-place update on its Pod, as JSON.
	InPlaceUpdateStateKey = "apps.kruise.io/inplace-update-state"
	// InPlaceUpdateStateKeyOld is the same annotation in old objects. It is read, and
	// removed on a write.
	InPlaceUpdateStateKeyOld = "inplace-update-state"
	// InPlaceUpdateGraceKey holds the change that waits for the grace period, as JSON.
	InPlaceUpdateGraceKey = "apps.kruise.io/inplace-update-grace"
	// InPlaceUpdateGraceKeyOld is the same annotation in old objects. It is read, and
	// removed on a write.
	InPlaceUpdateGraceKeyOld = "inplace-update-grace"
	// RuntimeContainerMetaKey is the node agent's report about the containers of a Pod, as
	// JSON.
	RuntimeContainerMetaKey = "apps.kruise.io/runtime-containers-meta"
	// ContainerLaunchPriorityKey requests an order in which containers start.
	ContainerLaunchPriorityKey = "apps.kruise.io/container-launch-priority"
	// ContainerLaunchCompletedKey is "true" on a Pod if all its containers may start.
	ContainerLaunchCompletedKey = "apps.kruise.io/container-launch-priority-completed"
	// ContainerLaunchOpenedKey is the last key that was added to the barrier of a Pod.
	ContainerLaunchOpenedKey = "apps.kruise.io/container-launch-priority-opened"
	// ContainerLaunchOrdered, as value of ContainerLaunchPriorityKey, is the order of the spec.
	ContainerLaunchOrdered = "Ordered"
	// ImagePreDownloadParallelismKey is the maximum number of nodes that pull images before
	// an update at the same time.
	ImagePreDownloadParallelismKey = "apps.kruise.io/image-predownload-parallelism"
	// ImagePreDownloadTimeoutSecondsKey is the number of seconds that such a pull can take.
	ImagePreDownloadTimeoutSecondsKey = "apps.kruise.io/image-predownload-timeout-seconds"
	// ImagePreDownloadMinUpdatedReadyPodsKey is the number of updated and ready Pods that
	// are required before such a pull.
	ImagePreDownloadMinUpdatedReadyPodsKey = "apps.kruise.io/image-predownload-min-updated-ready-pods"
	// CloneSetClaimTemplatesSumKey is the hash of the claim templates of a revision, in the form of this project. Another
	// program that stored the revision may have hashed other fields, so its hash cannot be compared with this one.
	CloneSetClaimTemplatesSumKey = "kruise.io/cloneset-claim-templates-sum"
	// CloneSetVolumeClaimTemplateHashKey is the same hash, for programs that read it under this name.
	CloneSetVolumeClaimTemplateHashKey = "kruise.io/cloneset-volumeclaimtemplate-hash"
	// CloneSetClaimTemplatesKey is, on a revision of a CloneSet, the claim templates with which the revision became the newest, as JSON.
	CloneSetClaimTemplatesKey = "apps.kruise.io/volume-claim-templates"
	// PubProtectOperationsKey lists the operations that a PodUnavailableBudget limits.
	PubProtectOperationsKey = "kruise.io/pub-protect-operations"
	// PubProtectTotalReplicasKey is the number of replicas that a PodUnavailableBudget is
	// calculated from.
	PubProtectTotalReplicasKey = "pub.kruise.io/protect-total-replicas"
	// DaemonSetProgressiveCreatePodKey, when "true" on a v1alpha1 DaemonSet, is the same as
	// spec.scaleStrategy.partitionedScaling in v1beta1.
	DaemonSetProgressiveCreatePodKey = "daemonset.kruise.io/progressive-create-pod"
	// PodDeletionCostKey orders Pods for deletion, the lowest number first.
	PodDeletionCostKey = "controller.kubernetes.io/pod-deletion-cost"
)

// Environment variables of containers.
const (
	// ContainerLaunchPriorityEnv is the priority with which a container starts.
	ContainerLaunchPriorityEnv = "KRUISE_CONTAINER_PRIORITY"
	// ContainerLaunchBarrierEnv keeps a container from starting before its turn.
	ContainerLaunchBarrierEnv = "KRUISE_CONTAINER_BARRIER"
	// SidecarSetVersionEnv is the version of a sidecar's container.
	SidecarSetVersionEnv = "SIDECARSET_VERSION"
	// SidecarSetVersionAltEnv is the version of the other container of a hot upgrade.
	SidecarSetVersionAltEnv = "SIDECARSET_VERSION_ALT"
)

// Conditions of Pods that are also readiness gates.
const (
	// KruisePodReadyConditionType is False while something keeps the Pod out of service.
	KruisePodReadyConditionType = "KruisePodReady"
	// InPlaceUpdateReadyConditionType is False while the Pod is updated in place.
	InPlaceUpdateReadyConditionType = "InPlaceUpdateReady"
)

// ClaimOwnerKey is the annotation with the name of the StatefulSet that resized a claim.
const ClaimOwnerKey = "apps.kruise.io/owned-by-asts"
