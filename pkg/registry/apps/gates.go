package apps

import "k8s.io/component-base/featuregate"

// firstOff is the first of the gates that is off, or empty.
func firstOff(gate featuregate.FeatureGate, features ...featuregate.Feature) string {
	for _, feature := range features {
		if !gate.Enabled(feature) {
			return string(feature)
		}
	}
	return ""
}
