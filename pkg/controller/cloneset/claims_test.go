package cloneset

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// A Pod that somebody deletes goes in its own time. Its claim waits for it, and the others of its set do not.
func TestRow21APodThatGoesSlowlyComesBackWithItsClaim(t *testing.T) {
	w := rolled(t, "", newSet(2, func(s *v1beta1.CloneSetSpec) {
		s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
		s.ScaleStrategy.EnablePVCReuse = true
	}))
	before := w.names()
	w.change(before[0], func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: w.Clock.Now()} })
	w.settle()
	assert.Equal(t, before, w.names(), "its name and its claim are not free yet")

	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](3) })
	w.settle()
	assert.Len(t, w.names(), 3, "what is wanted beside it is created")

	w.lose(before[0])
	w.settle()
	assert.Len(t, w.names(), 3)
	assert.Contains(t, w.names(), before[0])
	left, err := w.Kube.CoreV1().PersistentVolumeClaims("ns").List(t.Context(), metav1.ListOptions{})
	assert.NoError(t, err)
	assert.Len(t, left.Items, 3)
}
