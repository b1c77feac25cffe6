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

// readinessGate gives a Pod the gate KruisePodReady, by which it can be kept out of service later: gates cannot be added then.
type readinessGate struct {
	features featuregate.FeatureGate
}

func (r readinessGate) mutate(_ context.Context, pod *corev1.Pod, _ admission.Attributes) error {
	if readiness.Gated(pod) || !r.features.Enabled(features.KruisePodReadinessGate) && !ours(pod) {
		return nil
	}
	pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: pub.KruisePodReadyConditionType})
	return nil
}

// ours tells whether a kind of ours controls the Pod. Our controllers set the gate themselves; this is for the Pods of others'.
func ours(pod *corev1.Pod) bool {
	ref := metav1.GetControllerOfNoCopy(pod)
	return ref != nil && schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group == apps.GroupName
}
