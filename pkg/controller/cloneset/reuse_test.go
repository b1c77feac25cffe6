package cloneset

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
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

// A lost Pod can terminate for a long time, because its node is gone. The claims of other lost Pods wait for none of this.
func TestLostPodIsReplacedWhileAnotherOneStillTerminates(t *testing.T) {
	for name, test := range map[string]struct {
		// stuck and gone are how many Pods are lost, replicas is what the user wants then.
		stuck, gone int
		replicas    int32
	}{
		"creations are limited":   {1, 1, 5},
		"fewer Pods are wanted":   {2, 1, 3},
		"all other Pods are lost": {4, 1, 5},
	} {
		t.Run(name, func(t *testing.T) {
			w := rolled(t, "", newSet(5, func(s *v1beta1.CloneSetSpec) {
				s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
				s.ScaleStrategy.EnablePVCReuse, s.ScaleStrategy.MaxUnavailable = true, value("1")
			}))
			claims := w.claimsByName()
			names := w.names()
			for _, stuck := range names[:test.stuck] {
				w.change(stuck, func(pod *corev1.Pod) {
					pod.DeletionTimestamp, pod.Finalizers = new(metav1.NewTime(controllertest.Now)), []string{"a/b"}
				})
			}
			lost := names[test.stuck]
			w.lose(lost)
			w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = &test.replicas })
			w.settle()
			assert.Contains(t, w.names(), lost)
			assert.Equal(t, claims, w.claimsByName(), "nobody got a new claim")
		})
	}
}

// Everybody who may edit a Pod can change its label with the ID of its instance.
func TestEditedInstanceLabelStopsNothing(t *testing.T) {
	reuse := func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.EnablePVCReuse = true }
	for name, edit := range map[string]func(w *world, pod *corev1.Pod){
		"removed": func(_ *world, pod *corev1.Pod) { delete(pod.Labels, pub.CloneSetInstanceIDKey) },
		"of another Pod": func(w *world, pod *corev1.Pod) {
			pod.Labels[pub.CloneSetInstanceIDKey] = w.Pods()[1].Labels[pub.CloneSetInstanceIDKey]
		},
		"of no Pod at all":   func(_ *world, pod *corev1.Pod) { pod.Labels[pub.CloneSetInstanceIDKey] = "zzzzz" },
		"an impossible text": func(_ *world, pod *corev1.Pod) { pod.Labels[pub.CloneSetInstanceIDKey] = "a-b" },
	} {
		t.Run(name, func(t *testing.T) {
			w := rolled(t, "", newSet(3, dataClaims("1"), reuse))
			w.change(w.names()[0], func(pod *corev1.Pod) { edit(w, pod) })
			w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = new(int32(5)) })
			w.settle()
			assert.Len(t, w.Pods(), 5)
			assert.Equal(t, w.set().Generation, w.set().Status.ObservedGeneration)
			w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = new(int32(1)) })
			w.settle()
			assert.Len(t, w.Pods(), 1)
			assert.Len(t, w.claimsByName(), 1)
		})
	}
}

func TestDeletedPodTakesOnlyItsOwnClaims(t *testing.T) {
	w := rolled(t, "", newSet(2, dataClaims("1")))
	doomed, other := w.names()[0], w.names()[1]
	w.change(doomed, func(pod *corev1.Pod) {
		pod.Labels[pub.CloneSetInstanceIDKey] = other[len("web-"):]
	})
	w.edit(func(s *v1beta1.CloneSetSpec) {
		s.ScaleStrategy.PodsToDelete, s.Replicas = []string{doomed}, new(int32(1))
	})
	w.settle()
	assert.Equal(t, []string{other}, w.names())
	assert.Equal(t, []string{"data-" + other}, slices.Collect(maps.Keys(w.claimsByName())))
}

// An owner reference has no namespace, and its UID is not checked.
func TestObjectsOfAnotherNamespaceAreNotOwned(t *testing.T) {
	w := rolled(t, "", newSet(2, dataClaims("1"), func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.EnablePVCReuse = true }))
	stolen := metav1.ObjectMeta{
		Namespace: "dev", Name: "data-web-zzzzz", Labels: map[string]string{"app": "web", pub.CloneSetInstanceIDKey: "zzzzz"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(w.set(), kind)},
	}
	pod := metav1.ObjectMeta{Namespace: "dev", Name: "web-zzzzz", Labels: stolen.Labels, OwnerReferences: stolen.OwnerReferences}
	w.Add(&corev1.PersistentVolumeClaim{ObjectMeta: stolen}, &corev1.Pod{ObjectMeta: pod})
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = new(int32(3)) })
	w.settle()
	assert.EqualValues(t, 3, w.set().Status.Replicas)
	in := map[string]int{}
	for _, pod := range w.Pods() {
		in[pod.Namespace]++
	}
	assert.Equal(t, map[string]int{"ns": 3, "dev": 1}, in)
	assert.Len(t, w.claimsByName(), 3, "each Pod has a claim of its own")
}
