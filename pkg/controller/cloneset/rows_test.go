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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/history"
)

func TestRow1Create(t *testing.T) {
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

func TestInPlaceRow1Update(t *testing.T) {
	w := rolled(t, "", newSet(3, inPlaceIfPossible, knobs("", "1", "")))
	before := w.Pods()
	w.edit(image("app:2"))
	writes := w.settle()
	assert.Equal(t, map[string]int{"app:2": 3}, w.images())
	for i, pod := range w.Pods() {
		assert.Equal(t, before[i].UID, pod.UID)
		assert.Equal(t, w.set().Status.UpdateRevision, pod.Labels["controller-revision-hash"])
		assert.Contains(t, pod.Annotations["apps.kruise.io/inplace-update-state"], `"imageID":"id:app:1"`)
		assert.Equal(t, int32(1), pod.Status.ContainerStatuses[0].RestartCount)
		made := map[string]int{}
		for _, write := range writes {
			if strings.HasSuffix(write, pod.Name) {
				made[strings.TrimSuffix(write, " "+pod.Name)]++
			}
		}
		assert.Equal(t, map[string]int{"patch pods/status": 2, "patch pods": 1}, made, "out of service, the change, back into service")
	}
	assert.GreaterOrEqual(t, w.least, 2)
	assert.Equal(t, 3, w.most)
	assert.Contains(t, strings.Join(w.Events(), "\n"),
		"Normal SuccessfulUpdatePodInPlace successfully update pod "+before[0].Name+" in-place(revision web-")
	assert.Equal(t, w.set().Status.UpdateRevision, w.set().Status.CurrentRevision)
}

func TestInPlaceRow2OtherChangesRecreate(t *testing.T) {
	w := rolled(t, "", newSet(2, inPlaceIfPossible, knobs("", "1", "")))
	before := w.names()
	w.edit(image("app:2"), func(s *v1beta1.CloneSetSpec) {
		s.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "1"}}
	})
	w.settle()
	assert.Equal(t, map[string]int{"app:2": 2}, w.images())
	for _, name := range before {
		assert.NotContains(t, w.names(), name)
	}
	assert.Contains(t, strings.Join(w.Events(), "\n"),
		"Normal SuccessfulUpdatePodReCreate successfully patch pod "+before[0]+" specified-delete for update(revision web-")
}

func TestInPlaceRow3MetadataAloneIsOneWrite(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible))
	name := w.names()[0]
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Template.Labels["new"] = "1" })
	var toPod []string
	for _, write := range w.settle() {
		if strings.HasSuffix(write, name) {
			toPod = append(toPod, write)
		}
	}
	assert.Equal(t, []string{"patch pods " + name}, toPod)
	pod := w.Pods()[0]
	assert.Equal(t, "1", pod.Labels["new"])
	assert.Equal(t, "Normal", pod.Labels["lifecycle.apps.kruise.io/state"])
	assert.Equal(t, 1, w.least, "it was in service all the time")
}

func TestInPlaceRow21LostRevisionRecreates(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible))
	name := w.names()[0]
	w.change(name, func(p *corev1.Pod) { p.Labels["controller-revision-hash"] = "web-gone" })
	w.edit(image("app:2"))
	w.settle()
	assert.NotContains(t, w.names(), name)
}

func TestRow5Partition(t *testing.T) {
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

func TestRow6Surge(t *testing.T) {
	w := rolled(t, "", newSet(5, knobs("", "20%", "1")))
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, map[string]int{"app:2": 5}, w.images())
	assert.LessOrEqual(t, w.most, 6)
	assert.GreaterOrEqual(t, w.least, 4)
}

func TestRow7SurgeInPlace(t *testing.T) {
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

func TestRow10PodsToDelete(t *testing.T) {
	w := rolled(t, "", newSet(3, knobs("", "1", "")))
	doomed := w.names()[1]
	w.edit(func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.PodsToDelete = []string{doomed} })
	w.settle()
	assert.NotContains(t, w.names(), doomed)
	assert.Len(t, w.names(), 3)
	assert.Empty(t, w.set().Spec.ScaleStrategy.PodsToDelete)
	assert.Contains(t, w.Events(), "Normal SuccessfulDelete succeed to delete pod "+doomed)
}

func TestRow11PodsToDeleteWithFewerReplicas(t *testing.T) {
	w := rolled(t, "", newSet(3))
	names := w.names()
	w.edit(func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.PodsToDelete, s.Replicas = names[1:2], ptr.To[int32](2) })
	w.settle()
	assert.Equal(t, []string{names[0], names[2]}, w.names())
}

func TestRow15ThrottledCreation(t *testing.T) {
	throttled := func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.MaxUnavailable, s.MinReadySeconds = value("1"), 60 }
	w := rolled(t, "", newSet(3))
	w.Clock.SetTime(controllertest.Now.Add(time.Hour))
	w.node.now = w.Clock.Now()
	w.edit(throttled, func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](5) })
	w.settle()
	assert.Len(t, w.names(), 4)
	assert.Contains(t, w.Events(), "Warning ScaleUpLimited scaleUp is limited because of scaleStrategy.maxUnavailable, limit: 1")
	w.Clock.SetTime(w.Clock.Now().Add(59 * time.Second))
	assert.Equal(t, time.Second, w.step(), "it asks to be called when the Pod will be available")
	assert.Len(t, w.names(), 4)
	w.Clock.SetTime(w.Clock.Now().Add(time.Second))
	w.node.now = w.Clock.Now()
	w.settle()
	assert.Len(t, w.names(), 5)
}

func TestRow16Paused(t *testing.T) {
	w := rolled(t, "", newSet(3, inPlaceIfPossible))
	w.edit(image("app:2"), func(s *v1beta1.CloneSetSpec) { s.UpdateStrategy.RollingUpdate.Paused = true })
	w.lose(w.names()[0])
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 2, "app:2": 1}, w.images())
}

func TestOnDelete(t *testing.T) {
	w := rolled(t, "", newSet(3))
	w.edit(image("app:2"), func(s *v1beta1.CloneSetSpec) { s.UpdateStrategy.Type = v1beta1.OnDeleteCloneSetStrategyType })
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 3}, w.images())
	w.lose(w.names()[0])
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 2, "app:2": 1}, w.images())
}

func TestRow17RollbackInTheMiddle(t *testing.T) {
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

func TestRow18RaisedPartition(t *testing.T) {
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

func TestRow19LostPodsProveNothing(t *testing.T) {
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

func TestRow20OldTemplateBumpsItsRevision(t *testing.T) {
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

func TestRow23LongName(t *testing.T) {
	for gate, label := range map[string]func(string) bool{
		"CloneSetShortHash=true":  func(l string) bool { return len(l) <= 63 },
		"CloneSetShortHash=false": func(l string) bool { return len(l) > 63 },
	} {
		set := newSet(1)
		set.Name = strings.Repeat("n", 60)
		w := newWorld(t, gate, set)
		w.Observe()
		_, err := w.r.Reconcile(t.Context(), types.NamespacedName{Namespace: "ns", Name: set.Name})
		require.NoError(t, err)
		assert.True(t, label(w.Pods()[0].Labels["controller-revision-hash"]), gate)
	}
}

func TestRow24OldPodsGetTheirHash(t *testing.T) {
	w := rolled(t, "", newSet(1))
	name := w.names()[0]
	w.change(name, func(p *corev1.Pod) { delete(p.Labels, "pod-template-hash") })
	assert.Equal(t, []string{"patch pods " + name}, w.settle())
	pod := w.Pods()[0]
	assert.Equal(t, history.ShortHash(pod.Labels["controller-revision-hash"]), pod.Labels["pod-template-hash"])
	assert.Equal(t, int32(0), pod.Status.ContainerStatuses[0].RestartCount)
}

func TestRow25QuotaThenRecovery(t *testing.T) {
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
	_, err := w.r.Reconcile(t.Context(), types.NamespacedName{Namespace: "ns", Name: "web"})
	require.ErrorContains(t, err, "exceeded quota")
	conditions := w.set().Status.Conditions
	require.Len(t, conditions, 1)
	assert.Equal(t, v1beta1.CloneSetConditionFailedScale, conditions[0].Type)
	assert.Contains(t, conditions[0].Message, "exceeded quota")
	assert.Contains(t, strings.Join(w.Events(), "\n"), "Warning FailedCreate failed to create pod: exceeded quota")
	assert.Len(t, w.Pods(), 1, "the second batch failed and was the last")

	allowed = 100
	w.settle()
	assert.Len(t, w.Pods(), 5)
	assert.Empty(t, w.set().Status.Conditions, "the condition goes with its cause")
}

func TestRow26aBrokenPodsAreUpdatedThoughCreationIsThrottled(t *testing.T) {
	w := newWorld(t, "", newSet(3, inPlaceIfPossible, image("broken:1"), func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.MaxUnavailable = value("2") }))
	w.node.broken = func(image string) bool { return strings.HasPrefix(image, "broken") }
	w.settle()
	assert.Len(t, w.Pods(), 2)
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, map[string]int{"app:2": 3}, w.images())
}

func TestRow27BrokenPodIsDeletedThoughCreationIsThrottled(t *testing.T) {
	w := newWorld(t, "", newSet(3, image("broken:1"), func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.MaxUnavailable = value("2") }))
	w.node.broken = func(string) bool { return true }
	w.settle()
	doomed := w.names()[0]
	w.change(doomed, func(p *corev1.Pod) { p.Labels["apps.kruise.io/specified-delete"] = "" })
	w.settle()
	assert.NotContains(t, w.names(), doomed)
}

func TestRow33NoReplicas(t *testing.T) {
	w := rolled(t, "", newSet(0))
	w.edit(image("app:2"))
	w.settle()
	status := w.set().Status
	assert.Equal(t, status.UpdateRevision, status.CurrentRevision)
	assert.NotEmpty(t, status.CurrentRevision)
}

func TestInPlaceOnlyReportsWhatItCannotDo(t *testing.T) {
	w := rolled(t, "", newSet(1, policy(pub.InPlaceOnlyPodUpdatePolicy)))
	name := w.names()[0]
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Template.Spec.HostNetwork = true })
	w.Observe()
	_, err := w.r.Reconcile(t.Context(), types.NamespacedName{Namespace: "ns", Name: "web"})
	require.ErrorContains(t, err, "cannot be updated in place")
	assert.Equal(t, v1beta1.CloneSetConditionFailedUpdate, w.set().Status.Conditions[0].Type)
	assert.Equal(t, []string{name}, w.names())
}

func TestLifecycleRow5And6PreDeleteHook(t *testing.T) {
	hook := func(s *v1beta1.CloneSetSpec) {
		s.Lifecycle = &pub.Lifecycle{PreDelete: &pub.LifecycleHook{FinalizersHandler: []string{"a/b"}}}
		s.Template.Finalizers = []string{"a/b"}
	}
	w := rolled(t, "", newSet(3, hook))
	scale := func(n int32) func(*v1beta1.CloneSetSpec) {
		return func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To(n) }
	}
	states := func() (held []string) {
		for _, pod := range w.Pods() {
			if pod.Labels["lifecycle.apps.kruise.io/state"] == "PreparingDelete" {
				held = append(held, pod.Name)
			}
		}
		return held
	}
	w.edit(scale(2))
	w.settle()
	require.Len(t, states(), 1)
	assert.Len(t, w.Pods(), 3, "it is held, not deleted")

	w.edit(scale(3))
	w.settle()
	assert.Empty(t, states())
	assert.Len(t, w.Pods(), 3)
	assert.Equal(t, int32(3), w.set().Status.AvailableReplicas)

	w.edit(scale(2))
	w.settle()
	held := states()
	require.Len(t, held, 1)
	w.change(held[0], func(p *corev1.Pod) { p.Finalizers = nil })
	w.settle()
	assert.NotContains(t, w.names(), held[0])
	assert.Len(t, w.names(), 2)
}

func TestLifecycleRow11UpdateHook(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible, func(s *v1beta1.CloneSetSpec) {
		s.Lifecycle = &pub.Lifecycle{InPlaceUpdate: &pub.LifecycleHook{LabelsHandler: map[string]string{"hook": "on"}}}
		s.Template.Labels["hook"] = "on"
	}))
	name := w.names()[0]
	state := func() string { return w.Pods()[0].Labels["lifecycle.apps.kruise.io/state"] }
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, "PreparingUpdate", state())
	assert.Equal(t, map[string]int{"app:1": 1}, w.images())

	w.change(name, func(p *corev1.Pod) { delete(p.Labels, "hook") })
	w.settle()
	assert.Equal(t, "Updated", state())
	assert.Equal(t, map[string]int{"app:2": 1}, w.images())

	w.edit(image("app:3"))
	w.settle()
	assert.Equal(t, "PreparingUpdate", state(), "row 13: it waits again")
	assert.Equal(t, "on", w.Pods()[0].Labels["hook"], "row 13: with the marker put back")

	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, "Normal", state(), "row 12: rolled back while it waits")
	assert.Equal(t, map[string]int{"app:2": 1}, w.images())
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
	set.DeletionTimestamp, set.Finalizers = ptr.To(metav1.NewTime(controllertest.Now)), []string{"foregroundDeletion"}
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

func TestRow21ClaimsOfALostPod(t *testing.T) {
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

func TestInPlaceRow7Grace(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible, func(s *v1beta1.CloneSetSpec) {
		s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 30}
	}))
	w.edit(image("app:2"))
	w.settle()
	pod := w.Pods()[0]
	assert.Equal(t, "app:1", pod.Spec.Containers[0].Image)
	assert.Equal(t, corev1.ConditionFalse, conditionOf(pod, corev1.PodReady).Status)
	assert.Equal(t, w.set().Status.UpdateRevision, pod.Labels["controller-revision-hash"])
	w.Clock.SetTime(controllertest.Now.Add(20 * time.Second))
	assert.Equal(t, 10*time.Second, w.step())

	w.edit(image("app:3"))
	w.settle()
	assert.Equal(t, "app:1", w.Pods()[0].Spec.Containers[0].Image, "row 8: it is not chosen again in its grace period")

	w.Clock.SetTime(controllertest.Now.Add(30 * time.Second))
	w.settle()
	assert.Equal(t, "app:2", w.Pods()[0].Spec.Containers[0].Image)
	assert.Contains(t, w.Pods()[0].Annotations, "apps.kruise.io/inplace-update-grace", "the second image has a grace period of its own")
	w.Clock.SetTime(controllertest.Now.Add(60 * time.Second))
	w.settle()
	assert.Equal(t, "app:3", w.Pods()[0].Spec.Containers[0].Image)
	assert.NotContains(t, w.Pods()[0].Annotations, "apps.kruise.io/inplace-update-grace")
	assert.Equal(t, int32(1), w.set().Status.UpdatedAvailableReplicas)
}

func TestEnvFromMetadataRecreates(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible, func(s *v1beta1.CloneSetSpec) {
		s.Template.Annotations = map[string]string{"v": "1"}
		s.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "V", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['v']"},
		}}}
	}))
	before := w.names()[0]
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Template.Annotations["v"] = "2" })
	w.settle()
	assert.NotEqual(t, before, w.names()[0])
}

func TestPodStaysOutOfServiceUntilTheNodeIsDone(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible))
	w.edit(image("app:2"))
	w.step()
	w.step()
	pod := w.Pods()[0]
	assert.Equal(t, corev1.ConditionFalse, conditionOf(pod, pub.InPlaceUpdateReadyConditionType).Status)
	assert.Equal(t, "Updating", pod.Labels["lifecycle.apps.kruise.io/state"])
	w.settle()
	assert.Equal(t, corev1.ConditionTrue, conditionOf(w.Pods()[0], pub.InPlaceUpdateReadyConditionType).Status)
}

func TestRow27ServingPodWaitsWhileCreationIsThrottled(t *testing.T) {
	w := newWorld(t, "", newSet(3, knobs("", "100%", ""), func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.MaxUnavailable = value("1") }))
	w.step()
	w.kubelet()
	w.step()
	w.kubelet()
	w.node.broken = func(string) bool { return true }
	w.step()
	serving := w.names()[0]
	for _, pod := range w.Pods() {
		if conditionOf(pod, corev1.PodReady) != nil {
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
	w.Observe()
	v, err := w.r.observe(w.set())
	require.NoError(t, err)
	_, err = w.r.syncRevisions(t.Context(), v)
	require.NoError(t, err)
	plan, err := v.updates()
	require.NoError(t, err)
	assert.Empty(t, plan.recreate, "one Pod is on its way already")
}
