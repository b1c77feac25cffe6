package install

import (
	"kruise.io/kruise/pkg/apis/annotation"
	"kruise.io/kruise/pkg/apis/policy"
)

// AgreeOnProtection synchronizes settings that a budget has both as a field and as an annotation: if an
// update changes one of the two, the other gets the same value. old is the stored object, nil on create.
// If both change, validation requires equal values.
func AgreeOnProtection(budget, old *policy.PodUnavailableBudget) {
	if old == nil {
		old = &policy.PodUnavailableBudget{}
	}
	annotation.Sync(policy.Settings(), budget, old)
}

// KeepPodUnavailableBudget keeps the stored values of fields that the version of the request does not have. Otherwise, an update in
// v1alpha1 without the annotation of the kept fields would protect Pods that the budget ignores.
func KeepPodUnavailableBudget(version string, budget, old *policy.PodUnavailableBudget) {
	if version != "v1alpha1" {
		return
	}
	if budget.Spec.IgnoredPodSelector == nil {
		budget.Spec.IgnoredPodSelector = old.Spec.IgnoredPodSelector.DeepCopy()
	}
	if budget.Spec.UnhealthyPodEvictionPolicy == nil {
		budget.Spec.UnhealthyPodEvictionPolicy = old.Spec.UnhealthyPodEvictionPolicy
	}
}
