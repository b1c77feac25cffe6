package statefulset

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// Claim templates are not part of the data.
func TestRevisionHasTheBytesOfOpenKruise(t *testing.T) {
	w := rolled(t, "", newSet(1, func(s *v1beta1.StatefulSetSpec) {
		s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	}))
	w.StoresRevision("ns", `{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"web"}},`+
		`"spec":{"containers":[{"image":"app:1","name":"main","resources":{}}]}}}}`, func() { w.step() })
}
