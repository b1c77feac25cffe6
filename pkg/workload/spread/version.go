package spread

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/kinds"
)

// Unversioned is the version of Pods of a target whose revisions share the subsets.
const Unversioned = "versionIgnored"

// Versioned reports whether each revision of the target has its own slots.
func Versioned(spread *v1beta1.WorkloadSpread) bool {
	kind := KindOf(spread)
	return kind == kinds.Deployment || kind == kinds.ReplicaSet
}

// VersionOf returns the version whose slots a Pod uses.
func VersionOf(spread *v1beta1.WorkloadSpread, pod metav1.Object) string {
	if version := pod.GetLabels()[appsv1.DefaultDeploymentUniqueLabelKey]; version != "" && Versioned(spread) {
		return version
	}
	return Unversioned
}
