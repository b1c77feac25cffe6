package apps

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClaimsToHub returns the claim templates without apiVersion and kind. Protobuf, the format of the store,
// does not contain them. If they were kept, each apply of an unchanged manifest with them would increase
// the generation. The argument is not changed.
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
