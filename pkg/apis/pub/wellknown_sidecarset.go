package pub

// Names of SidecarSet.
const (
	// SidecarSetCustomVersionKey, a label, is the custom version of a revision of a SidecarSet.
	// On a v1alpha1 SidecarSet it is what spec.customVersion is in v1beta1.
	SidecarSetCustomVersionKey = "apps.kruise.io/sidecarset-custom-version"
	// SidecarSetNameKey, a label, names the SidecarSet of a ControllerRevision.
	SidecarSetNameKey = "kruise.io/sidecarset-name"
	// SidecarSetHashKey, an annotation, is the hash of the containers of a SidecarSet. On a Pod
	// it says which hashes the Pod has, as JSON.
	SidecarSetHashKey = "kruise.io/sidecarset-hash"
	// SidecarSetHashWithoutImageKey is the same hash of the containers without their images.
	SidecarSetHashWithoutImageKey = "kruise.io/sidecarset-hash-without-image"
	// SidecarSetCanaryKey, an annotation, makes a SidecarSet the canary of another when "true".
	SidecarSetCanaryKey = "apps.kruise.io/sidecarset-canary"
	// SidecarSetBaseKey, an annotation, names the SidecarSet that a canary replaces.
	SidecarSetBaseKey = "apps.kruise.io/sidecarset-base"
)

// Finalizers.
const (
	// EphemeralContainersCleanupFinalizer holds an EphemeralJob until its controller let it go.
	EphemeralContainersCleanupFinalizer = "apps.kruise.io/ephemeralcontainers-cleanup"
	// NodePodProbeCleanupFinalizer holds a PodProbeMarker until no node runs its probes.
	NodePodProbeCleanupFinalizer = "kruise.io/node-pod-probe-cleanup"
)

// Conditions of Pods that say what became of their sidecars.
const (
	// SidecarSetUpgradableConditionType is False when a SidecarSet cannot upgrade the Pod in place.
	SidecarSetUpgradableConditionType = "SidecarSetUpgradable"
	// SidecarTerminatedConditionType is True when the sidecars of a finished job were ended.
	SidecarTerminatedConditionType = "SidecarTerminated"
)

// EphemeralJobIDEnv is an environment variable of ephemeral containers: the UID of the EphemeralJob that added them.
const EphemeralJobIDEnv = "KRUISE_EJOB_ID"
