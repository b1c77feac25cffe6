package apps

import "k8s.io/component-base/featuregate"

// firstOff returns the first disabled feature gate, or an empty string.
func firstOff(gate featuregate.FeatureGate, features ...featuregate.Feature) string {
	for _, feature := range features {
		if !gate.Enabled(feature) {
			return string(feature)
		}
	}
	return ""
}
