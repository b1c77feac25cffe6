package cloneset

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// claimsByName returns all claims by name.
func (w *world) claimsByName() map[string]corev1.PersistentVolumeClaim {
	w.t.Helper()
	list, err := w.Kube.CoreV1().PersistentVolumeClaims("ns").List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	byName := map[string]corev1.PersistentVolumeClaim{}
	for _, claim := range list.Items {
		byName[claim.Name] = claim
	}
	return byName
}

// Case cloneset 37.
func TestAllPodsComeBackWithTheirClaimsWhileTheseAreReused(t *testing.T) {
	twoClaims := func(s *v1beta1.CloneSetSpec) {
		for _, name := range []string{"data", "log"} {
			s.VolumeClaimTemplates = append(s.VolumeClaimTemplates, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
	}
	reuse := func(wanted bool) func(*v1beta1.CloneSetSpec) {
		return func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.EnablePVCReuse = wanted }
	}
	w := rolled(t, "", newSet(4, twoClaims, reuse(true)))
	loseAll := func() (writes []string) {
		for _, name := range w.names() {
			w.lose(name)
		}
		return w.settle()
	}
	names, claims := w.names(), w.claimsByName()
	require.Len(t, claims, 8)

	for _, write := range loseAll() {
		assert.NotContains(t, write, "persistentvolumeclaims", "claims stay as they are")
	}
	assert.ElementsMatch(t, names, w.names())
	assert.Equal(t, claims, w.claimsByName())

	w.edit(reuse(false))
	w.settle()
	loseAll()
	after := w.names()
	require.Len(t, after, 4)
	assert.False(t, slices.ContainsFunc(after, func(name string) bool { return slices.Contains(names, name) }), "%v after %v", after, names)
	made := w.claimsByName()
	require.Len(t, made, 8)
	for name, claim := range made {
		assert.NotContains(t, claims, name)
		assert.Equal(t, "CloneSet", metav1.GetControllerOf(&claim).Kind, name)
	}
}
