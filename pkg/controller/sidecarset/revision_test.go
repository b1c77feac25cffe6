package sidecarset

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller/controllertest"
)

// Fields that are not set are null. An ephemeral volume has a claim template.
func TestRevisionHasTheBytesOfOpenKruise(t *testing.T) {
	w := newWorld(t, func(set *v1beta1.SidecarSet) {
		set.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
			Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}},
		}}}
		set.Spec.PatchPodMetadata = []v1beta1.SidecarSetPatchPodMetadata{{
			Annotations: map[string]string{"a": "b"}, PatchPolicy: v1beta1.SidecarSetRetainPatchPolicy,
		}}
	})
	w.settle()
	w.StoresRevision(controllertest.SystemNamespace, `{"spec":{"$patch":"replace",`+
		`"containers":[{"image":"s:1","name":"s","resources":{},"shareVolumePolicy":{},"upgradeStrategy":{}}],"imagePullSecrets":null,`+
		`"initContainers":null,"patchPodMetadata":[{"annotations":{"a":"b"},"patchPolicy":"Retain"}],`+
		`"volumes":[{"ephemeral":{"volumeClaimTemplate":{"metadata":{"creationTimestamp":null},"spec":{"resources":{}}}},"name":"scratch"}]}}`,
		w.pass)
}
