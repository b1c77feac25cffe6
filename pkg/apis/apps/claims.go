package apps

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClaimsToHub are claim templates without apiVersion and kind. Protobuf, in which objects
// are stored, does not carry them: kept, they would make each apply of an unchanged manifest
// that has them a new generation. The argument is not changed.
func ClaimsToHub(claims []corev1.PersistentVolumeClaim) []corev1.PersistentVolumeClaim {
	return withType(claims, metav1.TypeMeta{})
}

// ClaimsFromHub are claim templates as a version shows them: all with apiVersion and kind,
// as a StatefulSet shows its own. The argument is not changed.
func ClaimsFromHub(claims []corev1.PersistentVolumeClaim) []corev1.PersistentVolumeClaim {
	return withType(claims, metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"})
}

func withType(claims []corev1.PersistentVolumeClaim, want metav1.TypeMeta) []corev1.PersistentVolumeClaim {
	result := slices.Clone(claims)
	for i := range result {
		result[i].TypeMeta = want
	}
	return result
}
