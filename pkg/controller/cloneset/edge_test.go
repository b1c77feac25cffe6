package cloneset

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// Case cloneset 16.
func TestRunningUpdatesContinueDuringAPause(t *testing.T) {
	w := rolled(t, "", newSet(3, inPlaceIfPossible, knobs("", "1", "")))
	w.edit(image("app:2"))
	w.step()
	w.step()
	w.edit(func(s *v1beta1.CloneSetSpec) { s.UpdateStrategy.RollingUpdate.Paused = true })
	w.kubelet()
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 2, "app:2": 1}, w.images())
	assert.Equal(t, int32(3), w.set().Status.AvailableReplicas, "what had begun is brought to its end")
}

// Case cloneset 22.
func TestTerminatingClaimDoesNotBlockOtherPods(t *testing.T) {
	w := rolled(t, "", newSet(2, dataClaims("1"), func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.EnablePVCReuse = true }))
	lost := w.names()[0]
	claim, err := w.Kube.CoreV1().PersistentVolumeClaims("ns").Get(t.Context(), "data-"+lost, metav1.GetOptions{})
	require.NoError(t, err)
	claim.DeletionTimestamp, claim.Finalizers = new(metav1.NewTime(w.Clock.Now())), []string{"kubernetes.io/pvc-protection"}
	w.Update(claim)
	w.lose(lost)
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](4) })
	w.settle()
	assert.Len(t, w.names(), 4)
	assert.NotContains(t, w.names(), lost, "its instance waits for its claim to be gone")
	assert.Equal(t, int32(4), w.set().Status.AvailableReplicas)
	assert.Empty(t, w.set().Status.Conditions)
}

// Case cloneset 21.
func TestClaimWaitsForItsTerminatingPod(t *testing.T) {
	for name, reuse := range map[string]bool{"reused": true, "not reused": false} {
		t.Run(name, func(t *testing.T) {
			w := rolled(t, "", newSet(2, dataClaims("1"), func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.EnablePVCReuse = reuse }))
			lost := w.names()[0]
			w.change(lost, func(p *corev1.Pod) {
				p.DeletionTimestamp, p.Finalizers = new(metav1.NewTime(w.Clock.Now())), []string{"example.com/stops"}
			})
			w.step()
			if !reuse {
				assert.Len(t, w.names(), 3, "nothing is waited for")
				return
			}
			assert.Len(t, w.names(), 2, "its instance comes back with its data")
			w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](3) })
			w.step()
			assert.Len(t, w.names(), 3, "another one does not wait")
			w.lose(lost)
			w.settle()
			assert.Contains(t, w.names(), lost)
			assert.Len(t, w.names(), 3)
			claims, err := w.Kube.CoreV1().PersistentVolumeClaims("ns").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			assert.Len(t, claims.Items, 3)
		})
	}
}

// Case cloneset 35.
func TestFewerReplicasInTheGracePeriod(t *testing.T) {
	w := rolled(t, "", newSet(3, inPlaceIfPossible, knobs("", "100%", ""), func(s *v1beta1.CloneSetSpec) {
		s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 30}
	}))
	w.edit(image("app:2"))
	w.settle()
	for _, pod := range w.Pods() {
		require.Contains(t, pod.Annotations, pub.InPlaceUpdateGraceKey)
	}
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](1) })
	w.settle()
	require.Len(t, w.names(), 1)
	w.wait(30 * time.Second)
	w.settle()
	assert.Equal(t, map[string]int{"app:2": 1}, w.images())
	assert.Equal(t, int32(1), w.set().Status.UpdatedAvailableReplicas)
}

// The Pod has the label of the new revision during its grace period, so nobody would give it the new image later.
// Case inplace-update 8.
func TestDelayedUpdateThatCannotBeRead(t *testing.T) {
	for _, only := range []pub.PodUpdatePolicyType{pub.InPlaceIfPossiblePodUpdatePolicy, pub.InPlaceOnlyPodUpdatePolicy} {
		t.Run(string(only), func(t *testing.T) {
			w := rolled(t, "", newSet(1, policy(only), func(s *v1beta1.CloneSetSpec) {
				s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 30}
			}))
			w.edit(image("app:2"))
			w.settle()
			name := w.names()[0]
			w.change(name, func(pod *corev1.Pod) { pod.Annotations[pub.InPlaceUpdateGraceKey] = "{" })
			if only == pub.InPlaceOnlyPodUpdatePolicy {
				w.Observe()
				_, err := w.reconcile("web")
				require.ErrorContains(t, err, "cannot be updated in place: its delayed update cannot be read")
				return
			}
			w.settle()
			assert.Equal(t, map[string]int{"app:2": 1}, w.images())
			assert.NotEqual(t, name, w.names()[0], "a new Pod took its place")
		})
	}
}

// Case cloneset 36.
func TestRevisionsWithoutAnnotationsAreRead(t *testing.T) {
	w := rolled(t, "RecreatePodWhenChangeVCTInCloneSetGate=true", newSet(1, inPlaceIfPossible))
	w.edit(image("app:2"))
	w.settle()
	client := w.Kube.AppsV1().ControllerRevisions("ns")
	list, err := client.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range list.Items {
		list.Items[i].Annotations = nil
		_, err := client.Update(t.Context(), &list.Items[i], metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	name := w.names()[0]
	w.Observe()
	assert.NotContains(t, w.settle(), "create controllerrevisions")
	w.edit(image("app:1"))
	assert.NotContains(t, w.settle(), "create controllerrevisions", "the older one comes back")
	assert.Equal(t, []string{name}, w.names())
}

// Cases lifecycle 2, 3.
func TestPreNormalHoldsAvailability(t *testing.T) {
	w := newWorld(t, "", newSet(2, knobs("", "1", ""), func(s *v1beta1.CloneSetSpec) {
		s.Lifecycle = &pub.Lifecycle{PreNormal: &pub.LifecycleHook{LabelsHandler: map[string]string{"ok": "1"}}}
	}))
	w.settle()
	assert.Equal(t, int32(2), w.set().Status.ReadyReplicas)
	assert.Equal(t, int32(0), w.set().Status.AvailableReplicas)
	for _, name := range w.names() {
		w.change(name, func(p *corev1.Pod) { p.Labels["ok"] = "1" })
	}
	w.settle()
	assert.Equal(t, int32(2), w.set().Status.AvailableReplicas)

	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 1, "app:2": 1}, w.images(), "the new one is not available, so the other stays")
}

// Case lifecycle 20.
func TestFailedCreationIsRetriedAlone(t *testing.T) {
	w := newWorld(t, "", newSet(5))
	calls := 0
	w.refuse("create", func(clienttesting.Action) error {
		if calls++; calls == 5 {
			return apierrors.NewForbidden(pods, "web", nil)
		}
		return nil
	})
	require.Error(t, w.passes(1))
	require.Len(t, w.Pods(), 4)
	w.settle()
	assert.Len(t, w.Pods(), 5)
	assert.Equal(t, 5, w.most)
	assert.Equal(t, 6, calls, "the missing one, and no other")
}

// Anybody who may scale a CloneSet can ask for more Pods than the memory of the controller holds.
func TestPassPlansABoundedNumberOfCreations(t *testing.T) {
	w := newWorld(t, "", newSet(2_000_000_000))
	assert.Len(t, w.plan().Stages[0].Create, maxCreations)
}

// A deletion with --cascade=orphan keeps the revisions too. The next CloneSet of the name goes on with them.
func TestRevisionWithoutAnOwnerIsAdopted(t *testing.T) {
	w := rolled(t, "", newSet(2))
	revision := w.newest().DeepCopy()
	revision.OwnerReferences = nil
	w.Update(revision)
	set := w.set().DeepCopy()
	set.UID, set.Generation, set.Status = "again", 1, v1beta1.CloneSetStatus{}
	w.Update(set)
	w.settle()
	assert.Equal(t, revision.Name, w.set().Status.UpdateRevision)
	assert.Zero(t, ptr.Deref(w.set().Status.CollisionCount, 0))
	list, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, 1, len(list.Items))
	assert.True(t, metav1.IsControlledBy(&list.Items[0], w.set()))
}
