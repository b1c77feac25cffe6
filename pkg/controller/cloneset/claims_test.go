package cloneset

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
)

// A Pod that a user deletes takes time to terminate. Its claim waits for it. The other claims of its instance do not.
// Case cloneset 21.
func TestReplacementWaitsForTheTerminatingClaim(t *testing.T) {
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

// withClaims gives each Pod claims of its own that outlive the Pod.
func withClaims(names ...string) func(*v1beta1.CloneSetSpec) {
	return func(s *v1beta1.CloneSetSpec) {
		for _, name := range names {
			s.VolumeClaimTemplates = append(s.VolumeClaimTemplates, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		s.ScaleStrategy.EnablePVCReuse = true
	}
}

// The controller may stop between the writes of a deletion. After any of these writes, no other Pod may get the volume.
func TestVolumeOfADeletedPodIsNotReused(t *testing.T) {
	for name, refuse := range map[string]string{"claims": "persistentvolumeclaims", "Pods": "pods"} {
		t.Run("what fails are writes to "+name, func(t *testing.T) {
			w := rolled(t, "", newSet(2, withClaims("data", "logs")))
			before := w.names()
			failing := true
			for _, verb := range []string{"patch", "delete"} {
				w.Kube.PrependReactor(verb, refuse, func(clienttesting.Action) (bool, runtime.Object, error) {
					return failing, nil, apierrors.NewForbidden(claims, "data", nil)
				})
			}
			w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](1) })
			require.Error(t, w.passes(3))
			failing = false
			w.settle()
			w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](2) })
			w.settle()
			require.Len(t, w.names(), 2)
			shared := 0
			for _, now := range w.names() {
				shared += one(slices.Contains(before, now))
			}
			assert.Equal(t, 1, shared, "the new Pod has another instance, with claims of its own")
		})
	}
}

// The Pod may take long to terminate. Its claims are deleted with it, and not only when the garbage collector finds that it is gone.
func TestClaimsAreDeletedInThePassThatDeletesTheirPod(t *testing.T) {
	w := rolled(t, "", newSet(2, withClaims("data", "logs")))
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](1) })
	w.step()
	require.Len(t, w.names(), 1)
	assert.Equal(t, []string{"data-" + w.names()[0], "logs-" + w.names()[0]}, slices.Sorted(maps.Keys(w.claimsByName())))
}

// Kubernetes creates the claim of an ephemeral volume for the Pod, and no Pod can use the claim of another owner.
func TestClaimOfAnEphemeralVolumeStaysWithItsPod(t *testing.T) {
	w := rolled(t, "", newSet(1, withClaims("data"), func(s *v1beta1.CloneSetSpec) {
		s.Template.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
			Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}},
		}}}
	}))
	pod := w.Pods()[0]
	w.Add(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: pod.Name + "-scratch", Namespace: "ns",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))},
	}})
	w.settle()
	claim := w.claimsByName()[pod.Name+"-scratch"]
	assert.True(t, metav1.IsControlledBy(&claim, pod), "%v", claim.OwnerReferences)
}

func TestClaimIsKeptWhenItsPodIsNeededAgain(t *testing.T) {
	w := rolled(t, "", newSet(2, withClaims("data")))
	w.refuse("delete", func(clienttesting.Action) error { return apierrors.NewForbidden(pods, "web", nil) })
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](1) })
	require.Error(t, w.passes(1))
	owners := func() map[string]int {
		list, err := w.Kube.CoreV1().PersistentVolumeClaims("ns").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		kinds := map[string]int{}
		for i := range list.Items {
			kinds[metav1.GetControllerOf(&list.Items[i]).Kind]++
		}
		return kinds
	}
	assert.Equal(t, map[string]int{"CloneSet": 1, "Pod": 1}, owners())
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](2) })
	w.settle()
	assert.Equal(t, map[string]int{"CloneSet": 2}, owners())
}

// One of two claims is stuck in its deletion. The name of its instance is not free, so another instance is created.
func TestInstanceWithATerminatingClaimIsNotReused(t *testing.T) {
	w := rolled(t, "", newSet(2, withClaims("data", "logs")))
	lost := w.names()[0]
	claim, err := w.Kube.CoreV1().PersistentVolumeClaims("ns").Get(t.Context(), "data-"+lost, metav1.GetOptions{})
	require.NoError(t, err)
	claim.DeletionTimestamp, claim.Finalizers = &metav1.Time{Time: w.Clock.Now()}, []string{"kubernetes.io/pvc-protection"}
	w.Update(claim)
	w.lose(lost)
	w.settle()
	assert.Len(t, w.names(), 2)
	assert.NotContains(t, w.names(), lost)
	assert.Empty(t, w.set().Status.Conditions)
}

// The kubelet evicts a Pod under node pressure. The replacement needs the Pod's name and volume, so the failed Pod is deleted
// first.
func TestFailedPodIsReplacedWithItsVolume(t *testing.T) {
	w := rolled(t, "", newSet(2, withClaims("data")))
	before := w.names()
	failed := w.Pods()[0]
	w.change(failed.Name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	w.step()
	assert.Equal(t, before[1:], w.names(), "it is deleted, and nothing created meanwhile")
	w.settle()
	assert.Equal(t, before, w.names())
	assert.NotEqual(t, failed.UID, w.Pods()[0].UID)
	left, err := w.Kube.CoreV1().PersistentVolumeClaims("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, left.Items, 2)
}

// The owner of a Pod was removed: by a user, or by the garbage collector after a deletion that keeps the Pods. A Pod that has the label of
// its instance is adopted. Another one still uses its claims, gets them, and another Pod replaces it.
// Case cloneset 40.
func TestPodWithoutItsOwnerKeepsItsClaims(t *testing.T) {
	for name, reuse := range map[string]bool{"claims are reused": true, "claims are not reused": false} {
		for name, stranger := range map[string]bool{name: false, name + ", without the label": true} {
			t.Run(name, func(t *testing.T) {
				w := rolled(t, "", newSet(1, withClaims("data"), func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.EnablePVCReuse = reuse }))
				pod := w.names()[0]
				w.change(pod, func(p *corev1.Pod) {
					p.OwnerReferences = nil
					if stranger {
						delete(p.Labels, pub.CloneSetInstanceIDKey)
					}
				})
				_ = w.passes(2) // With reuse, the first creation finds that the name is taken.
				w.settle()
				claim, found := w.claimsByName()["data-"+pod]
				require.True(t, found)
				told := func() int { return strings.Count(strings.Join(w.Events(), "\n"), "Warning NotAdopted ") }
				if stranger {
					assert.Equal(t, pod, metav1.GetControllerOf(&claim).Name)
					assert.Len(t, w.Pods(), 2)
					assert.Equal(t, 1, told())
					return
				}
				assert.Equal(t, "web", metav1.GetControllerOf(&claim).Name)
				require.Len(t, w.Pods(), 1)
				assert.True(t, metav1.IsControlledBy(w.Pods()[0], w.set()))
				assert.Zero(t, told())
			})
		}
	}
}

// A CloneSet that was deleted without its Pods, and created again, has the same Pods, claims and revisions. Nothing is created or restarted.
// Case cloneset 40.
func TestKeptPodsAreAdopted(t *testing.T) {
	w := rolled(t, "", newSet(3, withClaims("data"), image("app:2")))
	before, kept := w.names(), w.claimsByName()
	revisions, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, pod := range w.Pods() {
		w.change(pod.Name, func(p *corev1.Pod) { p.OwnerReferences = nil })
	}
	for name := range kept {
		claim := kept[name]
		claim.OwnerReferences = nil
		w.Update(&claim)
	}
	for i := range revisions.Items {
		revisions.Items[i].OwnerReferences = nil
		w.Update(&revisions.Items[i])
	}
	again := newSet(3, withClaims("data"), image("app:2"))
	again.UID = "again"
	require.NoError(t, w.Kruise.Tracker().Delete(clonesets, "ns", "web"))
	w.Add(again)
	w.Writes()
	assert.NotContains(t, w.settle(), "create pods")
	assert.Equal(t, before, w.names())
	for _, pod := range w.Pods() {
		assert.True(t, metav1.IsControlledBy(pod, again), pod.Name)
	}
	claims := w.claimsByName()
	assert.Len(t, claims, len(kept))
	for name := range claims {
		claim := claims[name]
		assert.True(t, metav1.IsControlledBy(&claim, again), name)
	}
	now, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, now.Items, len(revisions.Items))
	assert.EqualValues(t, 3, w.set().Status.UpdatedReadyReplicas)
}

// A Pod without its owner that is ending leaves its name and its claims to the next Pod of the workload.
func TestPodWithoutItsOwnerThatEndsLeavesItsClaims(t *testing.T) {
	w := rolled(t, "", newSet(1, withClaims("data")))
	pod := w.names()[0]
	w.change(pod, func(p *corev1.Pod) {
		p.OwnerReferences, p.Finalizers, p.DeletionTimestamp = nil, []string{"example.com/hold"}, &metav1.Time{Time: controllertest.Now}
	})
	_ = w.passes(2)
	claim := w.claimsByName()["data-"+pod]
	assert.Equal(t, "CloneSet", metav1.GetControllerOf(&claim).Kind)
}

// The cache does not show yet that the CloneSet is being deleted, and the garbage collector has removed the owner of its Pods.
func TestNoClaimIsDeletedOfACloneSetThatIsBeingDeleted(t *testing.T) {
	edit := func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.EnablePVCReuse = false }
	for name, tc := range map[string]struct {
		edit func(*v1beta1.CloneSet)
		kept bool
	}{
		"it is there":         {func(*v1beta1.CloneSet) {}, false},
		"it is being deleted": {func(s *v1beta1.CloneSet) { s.DeletionTimestamp = &metav1.Time{Time: controllertest.Now} }, true},
		"another of its name": {func(s *v1beta1.CloneSet) { s.UID = "another" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := rolled(t, "", newSet(1, withClaims("data"), edit))
			w.Kruise.PrependReactor("get", "clonesets", func(clienttesting.Action) (bool, runtime.Object, error) {
				set := newSet(1, withClaims("data"), edit)
				tc.edit(set)
				return true, set, nil
			})
			pod := w.names()[0]
			require.NoError(t, w.Kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "ns", pod))
			w.step()
			_, kept := w.claimsByName()["data-"+pod]
			assert.Equal(t, tc.kept, kept)
		})
	}
}

// A canary removes a claim template. Pods of the old revision, which mounts the claim, can still be created.
// Case cloneset 41.
func TestOldRevisionKeepsItsClaimTemplates(t *testing.T) {
	mounts := func(names ...string) func(*v1beta1.CloneSetSpec) {
		return func(s *v1beta1.CloneSetSpec) {
			s.VolumeClaimTemplates, s.Template.Spec.Containers[0].VolumeMounts = nil, nil
			withClaims(names...)(s)
			for _, name := range names {
				mount := corev1.VolumeMount{Name: name, MountPath: "/" + name}
				s.Template.Spec.Containers[0].VolumeMounts = append(s.Template.Spec.Containers[0].VolumeMounts, mount)
			}
		}
	}
	w := rolled(t, "", newSet(1, mounts("a", "b")))
	w.edit(mounts("a"), knobs("2", "1", ""), func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](3) })
	w.settle()
	volumes := map[string]int{}
	for _, pod := range w.Pods() {
		for _, volume := range pod.Spec.Volumes {
			volumes[volume.Name]++
			assert.Contains(t, w.claimsByName(), volume.PersistentVolumeClaim.ClaimName)
		}
	}
	assert.Equal(t, map[string]int{"a": 3, "b": 2}, volumes, "two of three are at the old revision")
	assert.EqualValues(t, 1, w.set().Status.UpdatedReplicas)
}
