package policy

import (
	"fmt"

	"k8s.io/component-base/featuregate"
)

// bothOff returns the names of both feature gates if both are off. If one of them is on, it returns an empty string.
func bothOff(gate featuregate.FeatureGate, one, other featuregate.Feature) string {
	if gate.Enabled(one) || gate.Enabled(other) {
		return ""
	}
	return fmt.Sprintf("%s or %s", one, other)
}
