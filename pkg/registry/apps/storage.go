package apps

import (
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/registry/rest"
)

// Kinds returns the kinds of the group. The clock tells the time of kube-apiserver. If secrets is nil,
// nodeimages/pullsecrets is not served. spreads may be nil; otherwise it writes to the store of WorkloadSpreads.
func Kinds(
	gate featuregate.FeatureGate, clock clock.PassiveClock, secrets *PullSecrets,
	spreads *rest.Statuses[apps.WorkloadSpread, v1beta1.WorkloadSpread],
) []rest.AnyKind {
	return []rest.AnyKind{
		advancedCronJob(gate),
		broadcastJob(gate),
		cloneSet(gate),
		containerRecreateRequest(gate),
		daemonSet(gate),
		ephemeralJob(gate),
		imageListPullJob(gate),
		imagePullJob(gate),
		nodeImage(gate, clock, secrets),
		nodePodProbe(),
		persistentPodState(),
		podProbeMarker(gate),
		resourceDistribution(gate),
		sidecarSet(clock),
		statefulSet(gate),
		unitedDeployment(gate),
		workloadSpread(gate, spreads),
	}
}
