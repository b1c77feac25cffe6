package features

import (
	"fmt"
	"slices"
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

// Ignored returns the gates that are on and that came after the baseline, among which effective names those that the
// calling program honours. A program warns of the others, because the user expects an effect that they do not have.
// Gates that are on by default are not ignored.
func Ignored(gate featuregate.FeatureGate, effective ...featuregate.Feature) (names []string) {
	for _, g := range gates {
		if !g.baseline && !g.on && gate.Enabled(g.name) && !slices.Contains(effective, g.name) {
			names = append(names, string(g.name))
		}
	}
	return names
}
