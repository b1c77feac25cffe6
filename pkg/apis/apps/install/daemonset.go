package install

import (
	"kruise.io/kruise/pkg/apis/annotation"
	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

// AgreeOnDaemonSet moves the annotation DaemonSetProgressiveCreatePodKey into its field, if a write adds it. kubectl annotate writes
// v1beta1, which has the field. v1alpha1 shows the field as the annotation. old is the stored object, nil on create.
func AgreeOnDaemonSet(set, old *apps.DaemonSet) {
	const key = pub.DaemonSetProgressiveCreatePodKey
	if set.Annotations[key] != "true" || old != nil && old.Annotations[key] == "true" {
		return
	}
	set.Spec.ScaleStrategy.PartitionedScaling = true
	set.Annotations = annotation.Without(set.Annotations, key)
}
