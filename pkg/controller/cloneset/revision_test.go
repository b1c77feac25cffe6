package cloneset

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// Claim templates are not part of the data. An ephemeral volume has a claim template of its own.
func TestRevisionHasTheBytesOfOpenKruise(t *testing.T) {
	w := rolled(t, "", newSet(1, func(s *v1beta1.CloneSetSpec) {
		s.Template.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
			Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}},
		}}}
	}))
	w.StoresRevision("ns", `{"spec":{"template":{"$patch":"replace",`+
		`"metadata":{"creationTimestamp":null,"labels":{"app":"web"}},"spec":{"containers":[{"image":"app:1","name":"main","resources":{}}],`+
		`"volumes":[{"ephemeral":{"volumeClaimTemplate":{"metadata":{"creationTimestamp":null},"spec":{"resources":{}}}},"name":"scratch"}]}}}}`,
		func() { w.step() })
}
