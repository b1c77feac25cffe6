package spread

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/kinds"
)

// Unversioned is the version of Pods of a target whose revisions share the subsets.
const Unversioned = "versionIgnored"

// Versioned reports whether each revision of the target has its own slots. During a rolling update of a Deployment, the Pods of
// the new revision then fill the subsets from the first one on.
func Versioned(spread *v1beta1.WorkloadSpread) bool {
	kind := KindOf(spread)
	return kind == kinds.Deployment || kind == kinds.ReplicaSet
}

// VersionOf returns the version whose slots a Pod uses. The version is the hash that a Deployment writes on its Pods. A Pod of
// a ReplicaSet without a Deployment has none.
func VersionOf(spread *v1beta1.WorkloadSpread, pod metav1.Object) string {
	if version := pod.GetLabels()[appsv1.DefaultDeploymentUniqueLabelKey]; version != "" && Versioned(spread) {
		return version
	}
	return Unversioned
}
