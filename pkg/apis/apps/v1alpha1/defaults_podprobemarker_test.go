package v1alpha1_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
)

// Whoever runs the probes, and the containers of a job, decides what an unset field means: the
// objects are stored as they were written.
func TestNothingIsFilled(t *testing.T) {
	probe := v1alpha1.ContainerProbeSpec{Probe: corev1.Probe{ProbeHandler: corev1.ProbeHandler{
		HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(80)},
	}}}
	for name, written := range map[string]runtime.Object{
		"PodProbeMarker": &v1alpha1.PodProbeMarker{Spec: v1alpha1.PodProbeMarkerSpec{Probes: []v1alpha1.PodContainerProbe{{Probe: probe}}}},
		"NodePodProbe": &v1alpha1.NodePodProbe{Spec: v1alpha1.NodePodProbeSpec{PodProbes: []v1alpha1.PodProbe{
			{Probes: []v1alpha1.ContainerProbe{{Probe: probe}}},
		}}},
		"EphemeralJob": &v1alpha1.EphemeralJob{Spec: v1alpha1.EphemeralJobSpec{Template: v1alpha1.EphemeralContainerTemplateSpec{
			EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
				Name: "a", Image: "b", Ports: []corev1.ContainerPort{{ContainerPort: 80}},
			}}},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			before := written.DeepCopyObject()
			newScheme(t).Default(written)
			require.Equal(t, before, written)
		})
	}
}
