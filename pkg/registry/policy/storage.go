package policy

import (
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/registry/rest"
)

// Kinds returns the kinds of the group.
func Kinds(gate featuregate.FeatureGate) []rest.Row {
	return []rest.Row{
		podUnavailableBudget(gate),
	}
}
