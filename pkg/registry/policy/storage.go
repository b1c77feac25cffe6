package policy

import (
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/policy"
	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/registry/rest"
)

// Kinds returns the kinds of the group. budgets may be nil; otherwise it writes to the store of the kind.
func Kinds(
	gate featuregate.FeatureGate, budgets *rest.Statuses[policy.PodUnavailableBudget, v1beta1.PodUnavailableBudget],
) []rest.AnyKind {
	return []rest.AnyKind{
		podUnavailableBudget(gate, budgets),
	}
}
