package cloneset

import (
	"strings"
	"testing"
	"time"

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
	"kruise.io/kruise/pkg/workload/engine"
)

// refuse makes the server return the answer's error for a verb on Pods.
func (w *world) refuse(verb string, answer func(clienttesting.Action) error) {
	w.Kube.PrependReactor(verb, "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		err := answer(action)
		return err != nil, nil, err
	})
}

// fullAt makes a quota reject every Pod beyond the limit.
func (w *world) fullAt(limit int) {
	w.refuse("create", func(clienttesting.Action) error {
		list, err := w.Kube.Tracker().List(corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithKind("Pod"), "ns")
		if err != nil || len(list.(*corev1.PodList).Items) < limit {
			return err
		}
		return apierrors.NewForbidden(pods, "web", nil)
	})
}

// passes reconciles n times, ignores failures, and returns the last error.
func (w *world) passes(n int) (last error) {
	for range n {
		w.Observe()
		_, last = w.reconcile("web")
		w.watchBounds()
		w.kubelet()
	}
	return last
}

// A policy can refuse the template of one revision for good.
func TestRefusedRevisionDoesNotBlockTheOtherOne(t *testing.T) {
	w := rolled(t, "", newSet(10, knobs("5", "1", "")))
	w.edit(image("app:2"))
	w.settle()
	require.Equal(t, map[string]int{"app:1": 5, "app:2": 5}, w.images())
	w.refuse("create", func(action clienttesting.Action) error {
		if create, ok := action.(clienttesting.CreateActionImpl); ok && create.Object.(*corev1.Pod).Spec.Containers[0].Image == "app:1" {
			return apierrors.NewForbidden(pods, "web", nil)
		}
		return nil
	})
	lost := map[string]int{"app:1": 2, "app:2": 3}
	for _, pod := range w.Pods() {
		if image := pod.Spec.Containers[0].Image; lost[image] > 0 {
			lost[image]--
			w.lose(pod.Name)
		}
	}
	require.ErrorContains(t, w.passes(5), "forbidden")
	assert.Equal(t, map[string]int{"app:1": 3, "app:2": 5}, w.images())
}

func TestRefusedCreationDoesNotBlockUpdates(t *testing.T) {
	w := rolled(t, "", newSet(2, inPlaceIfPossible, knobs("", "2", "")))
	w.fullAt(2)
	w.edit(image("app:2"), func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](3) })
	require.Error(t, w.passes(10))
	assert.Equal(t, map[string]int{"app:2": 2}, w.images())
	assert.Equal(t, v1beta1.CloneSetConditionFailedScale, w.set().Status.Conditions[0].Type)
	assert.Equal(t, int32(2), w.set().Status.AvailableReplicas)
}

func TestRefusedSurgeDoesNotBlockReplacements(t *testing.T) {
	w := rolled(t, "", newSet(3, knobs("", "1", "1")))
	w.fullAt(3)
	w.edit(image("app:2"))
	require.NoError(t, w.passes(40))
	assert.Equal(t, map[string]int{"app:2": 3}, w.images())
	assert.GreaterOrEqual(t, w.least, 2)
	assert.Empty(t, w.set().Status.Conditions)
}

func TestRefusedCreationDoesNotBlockDeletions(t *testing.T) {
	w := rolled(t, "", newSet(4, knobs("", "2", "")))
	w.fullAt(0)
	names := w.names()
	for _, name := range names[:3] {
		w.change(name, func(p *corev1.Pod) { p.Labels["apps.kruise.io/specified-delete"] = "true" })
	}
	require.Error(t, w.passes(10))
	assert.Len(t, w.names(), 2, "two may be unavailable, so the third that was picked has to wait")
	assert.Contains(t, w.names(), names[3])
}

// If the server does not answer whether the Pod exists, no update is decided until this is known.
func TestUnknownCreationBlocksUpdates(t *testing.T) {
	w := rolled(t, "", newSet(2, inPlaceIfPossible, knobs("", "2", "")))
	for _, verb := range []string{"create", "get"} {
		w.refuse(verb, func(clienttesting.Action) error { return apierrors.NewInternalError(assert.AnError) })
	}
	w.edit(image("app:2"), func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](3) })
	require.Error(t, w.passes(3))
	assert.Equal(t, map[string]int{"app:1": 2}, w.images())
}

// A webhook answers every creation with 500, so no Pod is created. Still, finished updates are released, grace periods end, and
// a new template is rolled out in every pass.
func TestFailingCreationsDoNotBlockOtherWork(t *testing.T) {
	w := rolled(t, "", newSet(2, inPlaceIfPossible, knobs("", "3", ""), func(s *v1beta1.CloneSetSpec) {
		s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 30}
	}))
	w.refuse("create", func(clienttesting.Action) error { return apierrors.NewInternalError(assert.AnError) })
	w.edit(image("app:2"), func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](3) })
	require.ErrorContains(t, w.passes(2), "create pod")
	assert.Equal(t, map[string]int{"app:1": 2}, w.images(), "the grace period runs")
	w.wait(30 * time.Second)
	require.ErrorContains(t, w.passes(5), "create pod")
	assert.Equal(t, map[string]int{"app:2": 2}, w.images())
	status := w.set().Status
	assert.Equal(t, int32(2), status.UpdatedAvailableReplicas, "finished Pods are released")
	assert.Equal(t, v1beta1.CloneSetConditionFailedScale, status.Conditions[0].Type)
	w.edit(image("app:3"))
	require.Error(t, w.passes(2))
	w.wait(30 * time.Second)
	require.Error(t, w.passes(5))
	assert.Equal(t, map[string]int{"app:3": 2}, w.images(), "a new template is carried out")
	assert.Equal(t, int32(2), w.set().Status.UpdatedAvailableReplicas)
}

// Deletions that fail hold nothing else up either.
func TestFailingDeletionsDoNotBlockOtherWork(t *testing.T) {
	w := rolled(t, "", newSet(3, inPlaceIfPossible, knobs("", "3", "")))
	w.refuse("delete", func(clienttesting.Action) error { return apierrors.NewInternalError(assert.AnError) })
	w.edit(image("app:2"), func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](2) })
	require.ErrorContains(t, w.passes(10), "delete Pod")
	assert.Equal(t, 2, w.images()["app:2"])
	assert.Equal(t, int32(3), w.set().Status.AvailableReplicas)
}

// A rejected revision or release does not end the pass. Pods settle, and the status reports the error.
func TestRefusedRevisionIsReportedAndPodsSettle(t *testing.T) {
	w := rolled(t, "", newSet(2, inPlaceIfPossible, knobs("", "2", "")))
	w.edit(image("app:2"))
	w.step()
	w.Kube.PrependReactor("create", "controllerrevisions", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(engine.RevisionResource.GroupResource(), "web", nil)
	})
	w.edit(image("app:3"))
	w.kubelet()
	require.ErrorContains(t, w.passes(3), "create revision")
	status := w.set().Status
	assert.Equal(t, int32(2), status.AvailableReplicas, "they are released")
	assert.Equal(t, v1beta1.CloneSetConditionFailedUpdate, status.Conditions[0].Type)
}

func TestRefusedDeletionDoesNotBlockOtherPods(t *testing.T) {
	w := rolled(t, "", newSet(3, inPlaceIfPossible, knobs("", "2", "")))
	stuck := w.names()[0]
	w.refuse("delete", func(clienttesting.Action) error { return apierrors.NewTooManyRequests("budget", 1) })
	w.change(stuck, func(p *corev1.Pod) { p.Labels["apps.kruise.io/specified-delete"] = "true" })
	w.edit(image("app:2"))
	require.Error(t, w.passes(10))
	assert.Equal(t, map[string]int{"app:1": 1, "app:2": 2}, w.images())
	assert.Contains(t, w.names(), stuck)
}

// If the change that waited for a grace period is rejected, only its own Pod is affected.
func TestRefusedGraceDoesNotBlockOtherPods(t *testing.T) {
	w := rolled(t, "", newSet(2, inPlaceIfPossible, knobs("", "1", ""), func(s *v1beta1.CloneSetSpec) {
		s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 30}
	}))
	w.refuse("patch", func(action clienttesting.Action) error {
		patch, ok := action.(clienttesting.PatchActionImpl)
		if ok && patch.Subresource == "" && strings.Contains(string(patch.Patch), `"image":"bad:1"`) {
			return apierrors.NewForbidden(pods, patch.Name, nil)
		}
		return nil
	})
	w.edit(image("bad:1"))
	w.settle()
	w.wait(30 * time.Second)
	require.ErrorContains(t, w.passes(3), "forbidden")
	held := 0
	for _, pod := range w.Pods() {
		if c := controllertest.ConditionOf(pod, pub.InPlaceUpdateReadyConditionType); c.Status == corev1.ConditionFalse {
			held++
		}
	}
	assert.Equal(t, 1, held, "the other Pod is asked about before it goes out of service")

	w.edit(image("app:2"), knobs("", "2", ""))
	require.NoError(t, w.passes(3))
	w.wait(30 * time.Second)
	require.NoError(t, w.passes(10))
	assert.Equal(t, map[string]int{"app:2": 2}, w.images(), "a new image is the way out")
	assert.Equal(t, int32(2), w.set().Status.UpdatedAvailableReplicas)
}

// If the server refuses the change that is to take the place of one that waits, the Pod does not stay out of service: the one that waits is
// made when its time comes.
func TestRefusedThirdRevisionLeavesNoPodOutOfService(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible, func(s *v1beta1.CloneSetSpec) {
		s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 30}
	}))
	w.refuse("patch", func(action clienttesting.Action) error {
		patch, ok := action.(clienttesting.PatchActionImpl)
		if ok && strings.Contains(string(patch.Patch), "bad:1") {
			return apierrors.NewForbidden(pods, patch.Name, nil)
		}
		return nil
	})
	w.edit(image("app:2"))
	w.settle()
	w.edit(image("bad:1"))
	require.Error(t, w.passes(3))
	w.wait(30 * time.Second)
	require.Error(t, w.passes(5))
	assert.Equal(t, map[string]int{"app:2": 1}, w.images())
	assert.Equal(t, int32(1), w.set().Status.AvailableReplicas)
}

// Claims are created before their Pod. If each attempt created and deleted claims, each would trigger the next attempt at once.
func TestRefusedPodsLeaveNoClaimsBehindAgainAndAgain(t *testing.T) {
	w := newWorld(t, "", newSet(2, func(s *v1beta1.CloneSetSpec) {
		s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	}))
	full := true
	w.Kube.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create := action.(clienttesting.CreateActionImpl)
		if full {
			return true, nil, apierrors.NewForbidden(pods, "web", nil)
		}
		return len(create.CreateOptions.DryRun) > 0, create.Object, nil
	})
	require.Error(t, w.passes(3))
	w.Writes()
	require.Error(t, w.passes(5))
	for _, write := range w.Writes() {
		assert.NotContains(t, write, "persistentvolumeclaims")
	}
	full = false
	require.NoError(t, w.passes(5))
	assert.Len(t, w.Pods(), 2)
	claims, err := w.Kube.CoreV1().PersistentVolumeClaims("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, claims.Items, 2)
}
