package apps

import (
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/registry/rest"
)

// Kinds are the kinds of the group.
func Kinds(gate featuregate.FeatureGate) []rest.Row {
	return []rest.Row{
		advancedCronJob(gate),
		broadcastJob(gate),
		cloneSet(gate),
		ephemeralJob(gate),
		imageListPullJob(gate),
		imagePullJob(gate),
		nodeImage(gate),
		nodePodProbe(),
		podProbeMarker(gate),
	}
}
