package features

import (
	"fmt"
	"strings"

	"k8s.io/component-base/featuregate"
)

// New returns the gates at their defaults. legacyKinds is the environment variable CUSTOM_RESOURCE_ENABLE, a
// comma-separated list of kinds: when it is set and leaves SidecarSet out, PodWebhook is off unless a flag says
// otherwise. The flags are parsed into the result.
func New(legacyKinds string) (featuregate.MutableFeatureGate, error) {
	specs := make(map[featuregate.Feature]featuregate.FeatureSpec, len(gates))
	for _, g := range gates {
		spec := featuregate.FeatureSpec{Default: g.on, PreRelease: featuregate.Alpha}
		if g.stage == beta {
			spec.PreRelease = featuregate.Beta
		}
		if g.name == PodWebhook && leavesOut(legacyKinds, "SidecarSet") {
			spec.Default = false
		}
		specs[g.name] = spec
	}
	gate := featuregate.NewFeatureGate()
	if err := gate.Add(specs); err != nil {
		return nil, fmt.Errorf("register feature gates: %w", err)
	}
	return gate, nil
}

// leavesOut returns true if the comma-separated list of kinds is set and does not contain the kind.
func leavesOut(legacyKinds, kind string) bool {
	if strings.TrimSpace(legacyKinds) == "" {
		return false
	}
	for one := range strings.SplitSeq(legacyKinds, ",") {
		if strings.TrimSpace(one) == kind {
			return false
		}
	}
	return true
}

// Ignored returns the gates without an effect that the user has turned on. A program warns of them, because the user expects an effect.
func Ignored(gate featuregate.FeatureGate) (names []string) {
	for _, g := range gates {
		if !g.effect && !g.on && gate.Enabled(g.name) {
			names = append(names, string(g.name))
		}
	}
	return names
}
