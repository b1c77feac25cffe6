package pub

// Names of PodUnavailableBudget.
const (
	// RelatedPubKey, an annotation, names the PodUnavailableBudget that governs a Pod.
	RelatedPubKey = "kruise.io/related-pub"
	// RelatedPubKeyNew is the same annotation under the name of later releases. It is read
	// first.
	RelatedPubKeyNew = "pub.kruise.io/related-pub"
	// PubNoProtectKey, an annotation, disables the protection of a Pod by budgets when it is
	// true.
	PubNoProtectKey = "pub.kruise.io/no-protect"
	// BudgetNamespaceKey, a label, is "true" on each namespace that has a
	// PodUnavailableBudget. An admission webhook for evictions selects namespaces by it,
	// because evictions do not have the labels of Pods.
	BudgetNamespaceKey = "policy.kruise.io/pod-unavailable-budgets"
)

// Labels of namespaces for new Pods.
const (
	// PodFailurePolicyKey, a label of a namespace, is "Fail" if no Pod may be created in it while admission does not answer.
	PodFailurePolicyKey = "admission.kruise.io/pod-failure-policy"
	// PodFailurePolicyFail is the only value of PodFailurePolicyKey.
	PodFailurePolicyFail = "Fail"
	// PodCreationKey is "ignored" on each namespace whose Pods no SidecarSet selects, and
	// which has no PersistentPodState and no WorkloadSpread. The admission webhook for new
	// Pods skips these namespaces.
	PodCreationKey = "apps.kruise.io/pod-creation"
	// PodCreationIgnored is the only value of PodCreationKey.
	PodCreationIgnored = "ignored"
	// PodCreationKeyOld is the name of the same label in old installations. It is not read,
	// and removed from each namespace.
	PodCreationKeyOld = "apps.kruise.io/sidecarsets"
)

// Names on Pods that SidecarSets write, and budgets read.
const (
	// SidecarSetInjectedListKey, an annotation, lists the SidecarSets of a Pod, separated by
	// commas.
	SidecarSetInjectedListKey = "kruise.io/sidecarset-injected-list"
	// SidecarSetInPlaceUpdateStateKey, an annotation, records updates of sidecars, as JSON by SidecarSet.
	SidecarSetInPlaceUpdateStateKey = "kruise.io/sidecarset-inplace-update-state"
	// SidecarInjectedEnv is "true" in each container that a SidecarSet injected.
	SidecarInjectedEnv = "IS_INJECTED"
)
