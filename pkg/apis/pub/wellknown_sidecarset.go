package pub

// Names of SidecarSet.
const (
	// SidecarSetCustomVersionKey, a label, is the custom version of a revision of a
	// SidecarSet. On a v1alpha1 SidecarSet, it is the same as spec.customVersion in v1beta1.
	SidecarSetCustomVersionKey = "apps.kruise.io/sidecarset-custom-version"
	// SidecarSetNameKey, a label, names the SidecarSet of a ControllerRevision.
	SidecarSetNameKey = "kruise.io/sidecarset-name"
	// SidecarSetHashKey, an annotation, is the hash of the containers of a SidecarSet. On a
	// Pod, it contains the hashes of its SidecarSets as JSON.
	SidecarSetHashKey = "kruise.io/sidecarset-hash"
	// SidecarSetHashWithoutImageKey is the same hash of the containers without their images.
	SidecarSetHashWithoutImageKey = "kruise.io/sidecarset-hash-without-image"
	// SidecarSetWorkingContainersKey, an annotation, contains as JSON which of the two
	// containers of each hot upgrade works.
	SidecarSetWorkingContainersKey = "kruise.io/sidecarset-working-hotupgrade-container"
	// SidecarSetVersionKeyPrefix and SidecarSetVersionAltKeyPrefix, followed by the name of
	// a container, are annotations with the version of the container and of the other
	// container of its hot upgrade.
	SidecarSetVersionKeyPrefix    = "version.sidecarset.kruise.io/"
	SidecarSetVersionAltKeyPrefix = "versionalt.sidecarset.kruise.io/"
	// SidecarSetInjectsSinceKey, an annotation, is the time since which a SidecarSet is
	// injected into all new Pods that it selects now.
	SidecarSetInjectsSinceKey = "apps.kruise.io/sidecarset-injects-since"
	// SidecarSetCanaryKey, an annotation, makes a SidecarSet the canary of another when "true".
	SidecarSetCanaryKey = "apps.kruise.io/sidecarset-canary"
	// SidecarSetBaseKey, an annotation, names the SidecarSet that a canary replaces.
	SidecarSetBaseKey = "apps.kruise.io/sidecarset-base"
)

// Finalizers.
const (
	// EphemeralContainersCleanupFinalizer keeps an EphemeralJob until its controller has
	// released it.
	EphemeralContainersCleanupFinalizer = "apps.kruise.io/ephemeralcontainers-cleanup"
	// NodePodProbeCleanupFinalizer keeps a PodProbeMarker until no node runs its probes.
	NodePodProbeCleanupFinalizer = "kruise.io/node-pod-probe-cleanup"
)

// Annotations of Pods about the probes of PodProbeMarkers, for providers of virtual nodes.
const (
	// PodProbeKey has the probes that the provider runs, as a JSON list.
	PodProbeKey = "kruise.io/podprobe"
	// PodProbeMarkerListKey has the names of their PodProbeMarkers, sorted and separated by commas.
	PodProbeMarkerListKey = "kruise.io/podprobemarker-list"
)

// Conditions of Pods about their sidecars.
const (
	// SidecarSetUpgradableConditionType is False when a SidecarSet cannot upgrade the Pod in place.
	SidecarSetUpgradableConditionType = "SidecarSetUpgradable"
	// SidecarSetUpdateImmutableField is the reason of that condition while it is False.
	SidecarSetUpdateImmutableField = "UpdateImmutableField"
	// SidecarSetAllUpgradable is the reason of that condition while it is True.
	SidecarSetAllUpgradable = "AllSidecarsetUpgradable"
	// SidecarTerminatedConditionType is True when the sidecars of a finished job were
	// stopped.
	SidecarTerminatedConditionType = "SidecarTerminated"
)

// Environment variables that mark the sidecars of jobs. Only literal values count.
const (
	// TerminateSidecarEnv is "true" in a container that is stopped when all others of its Pod are done.
	TerminateSidecarEnv = "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT"
	// TerminateSidecarWithImageEnv is an image that exits at once. On a virtual node, it replaces the container's image then.
	TerminateSidecarWithImageEnv = "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT_WITH_IMAGE"
	// TerminateSidecarIgnoreExitCodeEnv is "true" in such a container if its exit code must not make the Pod fail.
	TerminateSidecarIgnoreExitCodeEnv = "KRUISE_TERMINATE_SIDECAR_IGNORE_EXIT_CODE"
)

// EphemeralJobIDEnv is an environment variable of ephemeral containers: the UID of the EphemeralJob that added them.
const EphemeralJobIDEnv = "KRUISE_EJOB_ID"
