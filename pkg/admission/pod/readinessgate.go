package pod

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/workload/readiness"
)

// readinessGate adds the readiness gate KruisePodReady to a Pod. It lets controllers take the Pod out of service
// later. Readiness gates cannot be added to an existing Pod.
type readinessGate struct {
	features featuregate.FeatureGate
}

// mutate adds the gate at most once. The feature gate extends it to all Pods.
func (r readinessGate) mutate(_ context.Context, e *edit, _ admission.Attributes) error {
	if !readiness.Gated(e.pod) && (r.features.Enabled(features.KruisePodReadinessGate) || ours(e.pod)) {
		e.addGate(corev1.PodReadinessGate{ConditionType: pub.KruisePodReadyConditionType})
	}
	return nil
}

// ours returns true if a Kruise workload controls the Pod. Kruise controllers set the gate themselves, so this
// mutator serves other Pods.
func ours(pod *corev1.Pod) bool {
	ref := metav1.GetControllerOfNoCopy(pod)
	return ref != nil && schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group == apps.GroupName
}
