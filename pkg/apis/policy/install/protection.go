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
	annotation.Agree(policy.Settings(), budget, old)
}
