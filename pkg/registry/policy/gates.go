package policy

import (
	"fmt"

	"k8s.io/component-base/featuregate"
)

// bothOff names two gates of which neither is on, or is empty: either will do.
func bothOff(gate featuregate.FeatureGate, one, other featuregate.Feature) string {
	if gate.Enabled(one) || gate.Enabled(other) {
		return ""
	}
	return fmt.Sprintf("%s or %s", one, other)
}
