package cloneset

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/health"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/kinds"
)

// Case cloneset 1.
func TestCreateMakesPodsWithTheirLabels(t *testing.T) {
	w := newWorld(t, "", newSet(3))
	w.step()
	assert.Equal(t, []string{"create controllerrevisions", "create pods", "create pods", "create pods", "update clonesets/status web"}, w.Writes())
	events := w.Events()
	require.Len(t, events, 3)
	for i, pod := range w.Pods() {
		id := pod.Labels["apps.kruise.io/cloneset-instance-id"]
		assert.Equal(t, "web-"+id, pod.Name)
		assert.Len(t, id, 5)
		assert.True(t, strings.HasPrefix(pod.Labels["controller-revision-hash"], "web-"))
		assert.Equal(t, history.ShortHash(pod.Labels["controller-revision-hash"]), pod.Labels["pod-template-hash"])
		assert.Equal(t, types.UID("set"), metav1.GetControllerOf(pod).UID)
		assert.Equal(t, "PreparingNormal", pod.Labels["lifecycle.apps.kruise.io/state"])
		assert.Contains(t, events[i], "Normal SuccessfulCreate succeed to create pod web-")
	}
	w.kubelet()

	w.step()
	writes := w.Writes()
	assert.Len(t, slices.DeleteFunc(writes, func(s string) bool { return !strings.HasPrefix(s, "patch pods/status") }), 3,
		"one write for each Pod puts it into service and into Normal")
	w.kubelet()
	w.settle()
	status := w.set().Status
	assert.Equal(t, v1beta1.CloneSetStatus{
		ObservedGeneration: 1, Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, UpdatedReplicas: 3, UpdatedReadyReplicas: 3,
		UpdatedAvailableReplicas: 3, ExpectedUpdatedReplicas: 3, UpdateRevision: status.UpdateRevision,
		CurrentRevision: status.UpdateRevision, LabelSelector: "app=web",
	}, status)
	for _, pod := range w.Pods() {
		assert.Equal(t, "Normal", pod.Labels["lifecycle.apps.kruise.io/state"])
	}
	w.step()
	assert.Empty(t, w.Writes(), "nothing is written where nothing changed")
}

// Case cloneset 5.
func TestPartitionHoldsBackOldPods(t *testing.T) {
	w := rolled(t, "", newSet(8, knobs("90%", "1", "")))
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 7, "app:2": 1}, w.images())
	assert.Equal(t, int32(1), w.set().Status.ExpectedUpdatedReplicas)

	w = rolled(t, "", newSet(8, knobs("100%", "1", "")))
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 8}, w.images())
}

// Case cloneset 6.
func TestSurgeAddsPodsDuringARollout(t *testing.T) {
	w := rolled(t, "", newSet(5, knobs("", "20%", "1")))
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, map[string]int{"app:2": 5}, w.images())
	assert.LessOrEqual(t, w.most, 6)
	assert.GreaterOrEqual(t, w.least, 4)
}

// Case cloneset 7.
func TestSurgeMakesRoomForUpdatesInPlace(t *testing.T) {
	w := rolled(t, "", newSet(10, inPlaceIfPossible, knobs("", "0", "2")))
	before := w.names()
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, map[string]int{"app:2": 10}, w.images())
	assert.LessOrEqual(t, w.most, 12)
	assert.GreaterOrEqual(t, w.least, 10)
	kept := 0
	for _, name := range w.names() {
		if slices.Contains(before, name) {
			kept++
		}
	}
	assert.Equal(t, 8, kept, "two are new, the others are the same Pods")
}

// Tools change annotations with each deployment. Pods that can take them without a restart are not replaced by surge.
// Case cloneset 7.
func TestUpdateThatRestartsNothingNeedsNoSurge(t *testing.T) {
	for name, policy := range map[string]func(*v1beta1.CloneSetSpec){"in place": inPlaceIfPossible, "recreated": func(*v1beta1.CloneSetSpec) {}} {
		t.Run(name, func(t *testing.T) {
			w := rolled(t, "", newSet(4, policy, knobs("", "0", "2")))
			before := w.names()
			w.edit(func(s *v1beta1.CloneSetSpec) { s.Template.Annotations = map[string]string{"build": "2"} })
			w.settle()
			assert.Equal(t, int32(4), w.set().Status.UpdatedAvailableReplicas)
			assert.Equal(t, name == "in place", slices.Equal(before, w.names()))
			if name == "in place" {
				assert.Equal(t, 4, w.most)
			}
			// Pods that a user picks still get surge.
			w.change(w.names()[0], func(p *corev1.Pod) { p.Labels["apps.kruise.io/specified-delete"] = "true" })
			w.settle()
			assert.Len(t, w.names(), 4)
		})
	}
}

// Pods that are not available yet cost nothing, so fewer replicas do not wait for minReadySeconds.
func TestScaleInDoesNotWaitForPodsToBecomeAvailable(t *testing.T) {
	w := rolled(t, "", newSet(2, func(s *v1beta1.CloneSetSpec) { s.MinReadySeconds = 300 }))
	w.wait(time.Hour)
	w.settle()
	available := w.names()
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](5) })
	w.settle()
	require.Equal(t, int32(5), w.set().Status.ReadyReplicas)
	require.Equal(t, int32(2), w.set().Status.AvailableReplicas)
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](2) })
	w.settle()
	assert.Equal(t, available, w.names(), "Pods that are not available go first")

	w = rolled(t, "", newSet(3, func(s *v1beta1.CloneSetSpec) { s.MinReadySeconds = 300 }))
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](1) })
	w.settle()
	assert.Len(t, w.names(), 1)
}

// Case cloneset 10.
func TestPodsToDeleteAreReplaced(t *testing.T) {
	w := rolled(t, "", newSet(3, knobs("", "1", "")))
	doomed := w.names()[1]
	w.edit(func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.PodsToDelete = []string{doomed} })
	w.settle()
	assert.NotContains(t, w.names(), doomed)
	assert.Len(t, w.names(), 3)
	assert.Empty(t, w.set().Spec.ScaleStrategy.PodsToDelete)
	assert.Contains(t, w.Events(), "Normal SuccessfulDelete succeed to delete pod "+doomed)
}

// Case cloneset 11.
func TestPodsToDeleteComeFirstWithFewerReplicas(t *testing.T) {
	w := rolled(t, "", newSet(3))
	names := w.names()
	w.edit(func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.PodsToDelete, s.Replicas = names[1:2], ptr.To[int32](2) })
	w.settle()
	assert.Equal(t, []string{names[0], names[2]}, w.names())
}

// Case cloneset 15.
func TestCreationIsThrottledByMaxUnavailable(t *testing.T) {
	throttled := func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.MaxUnavailable, s.MinReadySeconds = value("1"), 60 }
	w := rolled(t, "", newSet(3))
	w.Clock.SetTime(controllertest.Now.Add(time.Hour))
	w.node.Now = w.Clock.Now()
	w.edit(throttled, func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](5) })
	w.settle()
	assert.Len(t, w.names(), 4)
	assert.Contains(t, w.Events(), "Warning ScaleUpLimited scaleUp is limited because of scaleStrategy.maxUnavailable, limit: 1")
	w.Clock.SetTime(w.Clock.Now().Add(59 * time.Second))
	assert.Equal(t, time.Second, w.step(), "it asks to be called when the Pod will be available")
	assert.Len(t, w.names(), 4)
	w.Clock.SetTime(w.Clock.Now().Add(time.Second))
	w.node.Now = w.Clock.Now()
	w.settle()
	assert.Len(t, w.names(), 5)
}

// Case cloneset 16.
func TestPausedSetReplacesButDoesNotUpdate(t *testing.T) {
	w := rolled(t, "", newSet(3, inPlaceIfPossible))
	w.edit(image("app:2"), func(s *v1beta1.CloneSetSpec) { s.UpdateStrategy.RollingUpdate.Paused = true })
	w.lose(w.names()[0])
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 2, "app:2": 1}, w.images())
}

// Case cloneset 38.
func TestOnDelete(t *testing.T) {
	w := rolled(t, "", newSet(3))
	w.edit(image("app:2"), func(s *v1beta1.CloneSetSpec) { s.UpdateStrategy.Type = v1beta1.OnDeleteCloneSetStrategyType })
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 3}, w.images())
	w.lose(w.names()[0])
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 2, "app:2": 1}, w.images())
}

// Case cloneset 17.
func TestRollbackUpdatesTheChangedPodsAlone(t *testing.T) {
	w := rolled(t, "", newSet(4, inPlaceIfPossible, knobs("2", "1", "")))
	restarts := func() (all int32) {
		for _, pod := range w.Pods() {
			all += pod.Status.ContainerStatuses[0].RestartCount
		}
		return all
	}
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 2, "app:2": 2}, w.images())
	w.edit(image("app:1"), knobs("", "1", ""))
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 4}, w.images())
	assert.Equal(t, int32(4), restarts(), "only the two that had changed changed back")
	assert.Equal(t, int32(4), w.set().Status.UpdatedReadyReplicas)
}

// Case cloneset 18.
func TestRaisedPartitionBringsPodsBack(t *testing.T) {
	for gate, want := range map[string]map[string]int{
		"CloneSetPartitionRollback=true":  {"app:1": 4, "app:2": 1},
		"CloneSetPartitionRollback=false": {"app:1": 2, "app:2": 3},
	} {
		w := rolled(t, gate, newSet(5, inPlaceIfPossible, knobs("2", "1", "")))
		w.edit(image("app:2"))
		w.settle()
		w.edit(knobs("4", "1", ""))
		w.settle()
		assert.Equal(t, want, w.images(), gate)
	}
}

// Case cloneset 19.
func TestLostPodsDoNotEndARollout(t *testing.T) {
	w := rolled(t, "", newSet(3, knobs("3", "1", "")))
	first := w.set().Status.CurrentRevision
	w.edit(image("app:2"))
	w.settle()
	for _, name := range w.names() {
		w.lose(name)
	}
	w.step()
	assert.Equal(t, first, w.set().Status.CurrentRevision)
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 3}, w.images())
	assert.Equal(t, first, w.set().Status.CurrentRevision)
}

// Case cloneset 20.
func TestOldTemplateBumpsItsRevision(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible))
	for _, tag := range []string{"2", "3", "4", "5", "6", "7"} {
		w.edit(image("app:" + tag))
		w.settle()
	}
	w.edit(image("app:3"))
	assert.NotContains(t, w.settle(), "create controllerrevisions")
	list, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, list.Items, 7)
	newest := slices.MaxFunc(list.Items, func(a, b appsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	assert.Equal(t, int64(8), newest.Revision)
	assert.Equal(t, newest.Name, w.set().Status.UpdateRevision)
}

// Case cloneset 23.
func TestLongNameNeedsShortHashes(t *testing.T) {
	for gate, label := range map[string]func(string) bool{
		"CloneSetShortHash=true":  func(l string) bool { return len(l) <= 63 },
		"CloneSetShortHash=false": func(l string) bool { return len(l) > 63 },
	} {
		set := newSet(1)
		set.Name = strings.Repeat("n", 60)
		w := newWorld(t, gate, set)
		w.Observe()
		_, err := w.reconcile(set.Name)
		require.NoError(t, err)
		assert.True(t, label(w.Pods()[0].Labels["controller-revision-hash"]), gate)
	}
}

// Case cloneset 24.
func TestPodsWithoutAHashGetTheirs(t *testing.T) {
	w := rolled(t, "", newSet(1))
	name := w.names()[0]
	w.change(name, func(p *corev1.Pod) { delete(p.Labels, "pod-template-hash") })
	assert.Equal(t, []string{"patch pods " + name}, w.settle())
	pod := w.Pods()[0]
	assert.Equal(t, history.ShortHash(pod.Labels["controller-revision-hash"]), pod.Labels["pod-template-hash"])
	assert.Equal(t, int32(0), pod.Status.ContainerStatuses[0].RestartCount)
}

// Case cloneset 25.
func TestCreationRecoversFromAQuota(t *testing.T) {
	w := newWorld(t, "", newSet(5))
	allowed := 1
	w.Kube.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		if allowed == 0 {
			return true, nil, errors.New("exceeded quota")
		}
		allowed--
		return false, nil, nil
	})
	w.Observe()
	_, err := w.reconcile("web")
	require.ErrorContains(t, err, "exceeded quota")
	all := w.set().Status.Conditions
	require.Len(t, all, 2)
	assert.Equal(t, v1beta1.CloneSetConditionFailedScale, all[0].Type)
	assert.Contains(t, all[0].Message, "exceeded quota")
	assert.Equal(t, []string{health.Reconciling, kinds.PodsMissing}, []string{string(all[1].Type), all[1].Reason})
	assert.Contains(t, strings.Join(w.Events(), "\n"), "Warning FailedCreate failed to create pod: exceeded quota")
	assert.Len(t, w.Pods(), 1, "the second batch failed and was the last")

	allowed = 100
	w.settle()
	assert.Len(t, w.Pods(), 5)
	assert.Empty(t, w.set().Status.Conditions, "the condition goes with its cause")
}

// Case cloneset 26a.
func TestBrokenPodsAreUpdatedDuringThrottledCreation(t *testing.T) {
	w := newWorld(t, "", newSet(3, inPlaceIfPossible, image("broken:1"), func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.MaxUnavailable = value("2") }))
	w.node.Broken = func(image string) bool { return strings.HasPrefix(image, "broken") }
	w.settle()
	assert.Len(t, w.Pods(), 2)
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, map[string]int{"app:2": 3}, w.images())
}

// Case cloneset 27.
func TestBrokenPodIsDeletedDuringThrottledCreation(t *testing.T) {
	w := newWorld(t, "", newSet(3, image("broken:1"), func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.MaxUnavailable = value("2") }))
	w.node.Broken = func(string) bool { return true }
	w.settle()
	doomed := w.names()[0]
	w.change(doomed, func(p *corev1.Pod) { p.Labels["apps.kruise.io/specified-delete"] = "" })
	w.settle()
	assert.NotContains(t, w.names(), doomed)
}

// Case cloneset 33.
func TestSetWithoutReplicasIsUpdatedAtOnce(t *testing.T) {
	w := rolled(t, "", newSet(0))
	w.edit(image("app:2"))
	w.settle()
	status := w.set().Status
	assert.Equal(t, status.UpdateRevision, status.CurrentRevision)
	assert.NotEmpty(t, status.CurrentRevision)
}

func TestReleaseOfPodsThatNoLongerMatch(t *testing.T) {
	w := rolled(t, "", newSet(2))
	name := w.names()[0]
	w.change(name, func(p *corev1.Pod) { p.Labels["app"] = "other" })
	w.settle()
	assert.Len(t, w.Pods(), 3)
	for _, pod := range w.Pods() {
		assert.Equal(t, pod.Name != name, metav1.GetControllerOf(pod) != nil)
	}
}

func TestDeletedSetIsOnlyReported(t *testing.T) {
	set := newSet(3)
	set.DeletionTimestamp, set.Finalizers = new(metav1.NewTime(controllertest.Now)), []string{"foregroundDeletion"}
	w := newWorld(t, "", set)
	w.step()
	assert.Equal(t, []string{"update clonesets/status web"}, w.Writes())
	assert.Empty(t, w.Pods())
}

func TestFailedAndEvictedPodsAreReplaced(t *testing.T) {
	w := rolled(t, "", newSet(2))
	name := w.names()[0]
	w.change(name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	w.step()
	assert.Len(t, w.Pods(), 3)
	assert.Equal(t, int32(1), w.set().Status.Replicas)
}

// Case cloneset 21.
func TestClaimsOfALostPodAreReused(t *testing.T) {
	claims := func(s *v1beta1.CloneSetSpec) {
		s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	}
	for name, reuse := range map[string]bool{"reused": true, "not reused": false} {
		t.Run(name, func(t *testing.T) {
			w := rolled(t, "", newSet(1, claims, func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.EnablePVCReuse = reuse }))
			before := w.names()[0]
			assert.Equal(t, "data-"+before, w.Pods()[0].Spec.Volumes[0].PersistentVolumeClaim.ClaimName)
			w.lose(before)
			w.settle()
			assert.Equal(t, reuse, w.names()[0] == before)
			left, err := w.Kube.CoreV1().PersistentVolumeClaims("ns").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			require.Len(t, left.Items, 1)
			assert.Equal(t, "data-"+w.names()[0], left.Items[0].Name)
		})
	}
}

// A Pod that takes over the claims of a deleted one also has its name. podsToDelete means the deleted one.
func TestPodsToDeleteKeepsANewPodOfTheSameName(t *testing.T) {
	w := rolled(t, "", newSet(2, dataClaims("1"), func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.EnablePVCReuse = true }))
	doomed := w.names()[0]
	w.edit(func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.PodsToDelete = []string{doomed} })
	w.lose(doomed)
	// A patch names the version of the list, and each write of the status changes it.
	reported := false
	w.Kruise.PrependReactor("*", "clonesets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		reported = reported || action.GetSubresource() == "status"
		if reported && action.GetVerb() == "patch" {
			return true, nil, apierrors.NewConflict(clonesets.GroupResource(), "web", errors.New("it has changed"))
		}
		return false, nil, nil
	})
	w.step()
	require.Contains(t, w.names(), doomed, "the claims are reused")
	assert.Empty(t, w.set().Spec.ScaleStrategy.PodsToDelete)
	uids := func() (all []types.UID) {
		for _, pod := range w.Pods() {
			all = append(all, pod.UID)
		}
		return all
	}
	before := uids()
	w.settle()
	assert.Equal(t, before, uids())
}

func TestScaleDownDeletesClaims(t *testing.T) {
	w := rolled(t, "", newSet(2, func(s *v1beta1.CloneSetSpec) {
		s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
		s.ScaleStrategy.EnablePVCReuse = true
	}))
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](1) })
	w.settle()
	left, err := w.Kube.CoreV1().PersistentVolumeClaims("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, left.Items, 1)
	assert.Equal(t, "data-"+w.names()[0], left.Items[0].Name)
}

// Case cloneset 27.
func TestServingPodWaitsWhileCreationIsThrottled(t *testing.T) {
	w := newWorld(t, "", newSet(3, knobs("", "100%", ""), func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.MaxUnavailable = value("1") }))
	w.step()
	w.kubelet()
	w.step()
	w.kubelet()
	w.node.Broken = func(string) bool { return true }
	w.step()
	serving := w.names()[0]
	for _, pod := range w.Pods() {
		if controllertest.ConditionOf(pod, corev1.PodReady) != nil {
			serving = pod.Name
		}
	}
	w.change(serving, func(p *corev1.Pod) { p.Labels["apps.kruise.io/specified-delete"] = "true" })
	w.step()
	assert.Contains(t, w.names(), serving)
}

func TestPicksOfEarlierPassesCountAgainstTheBudget(t *testing.T) {
	w := rolled(t, "", newSet(3, knobs("", "1", "")))
	w.edit(image("app:2"))
	w.change(w.names()[2], func(p *corev1.Pod) { p.Labels["apps.kruise.io/specified-delete"] = "true" })
	stages := w.plan().Stages
	assert.Empty(t, stages[len(stages)-1].Updates, "one Pod is on its way already")
}

func TestReleasedPodKeepsItsClaim(t *testing.T) {
	for name, reuse := range map[string]bool{"reused": true, "not reused": false} {
		t.Run(name, func(t *testing.T) {
			w := rolled(t, "", newSet(1, func(s *v1beta1.CloneSetSpec) {
				s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
				s.ScaleStrategy.EnablePVCReuse = reuse
			}))
			released := w.names()[0]
			w.change(released, func(p *corev1.Pod) { p.Labels["app"] = "other" })
			w.step()
			writes := w.Writes()
			assert.Contains(t, writes, "create pods")
			assert.NotContains(t, writes, "delete persistentvolumeclaims data-"+released)
			w.settle()
			claim, err := w.Kube.CoreV1().PersistentVolumeClaims("ns").Get(t.Context(), "data-"+released, metav1.GetOptions{})
			require.NoError(t, err, "a Pod that still runs uses it")
			assert.Equal(t, released, metav1.GetControllerOf(claim).Name)
			assert.Len(t, w.Pods(), 2)
		})
	}
}

// A revision counts as stable when all Pods have it. Whether they are ready is another question.
// Case cloneset 42.
func TestRevisionIsCurrentBeforeItsPodsAreReady(t *testing.T) {
	w := rolled(t, "", newSet(2, inPlaceIfPossible, knobs("", "100%", "")))
	w.edit(image("app:2"))
	w.step()
	w.step()
	status := w.set().Status
	assert.Equal(t, []int32{2, 0}, []int32{status.UpdatedReplicas, status.UpdatedReadyReplicas})
	assert.Equal(t, status.UpdateRevision, status.CurrentRevision)
}
