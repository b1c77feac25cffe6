package cloneset

import (
	"slices"
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
)

// A Pod whose update the server rejects goes out of service once. After that, it stays in service until the update may succeed.
func TestRefusedUpdateInPlaceLeavesThePodInService(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible))
	name := w.names()[0]
	refuse := true
	w.Kube.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch, ok := action.(clienttesting.PatchActionImpl)
		if !ok || patch.Subresource != "" {
			return false, nil, nil
		}
		if refuse && strings.Contains(string(patch.Patch), "app:2") {
			return true, nil, apierrors.NewForbidden(pods, name, nil)
		}
		if len(patch.PatchOptions.DryRun) > 0 {
			return true, &corev1.Pod{}, nil
		}
		return false, nil, nil
	})
	w.edit(image("app:2"))
	pass := func() (held int, err error) {
		w.Observe()
		_, err = w.reconcile("web")
		writes := w.Writes()
		w.kubelet()
		return len(slices.DeleteFunc(writes, func(s string) bool { return s != "patch pods/status "+name })), err
	}
	held, err := pass()
	require.Error(t, err)
	assert.Equal(t, 1, held)
	_, err = pass()
	require.NoError(t, err, "it is put back into service")
	for range 3 {
		held, err = pass()
		require.Error(t, err, "so that tries come less and less often")
		assert.Zero(t, held)
		assert.Equal(t, corev1.ConditionTrue, controllertest.ConditionOf(w.Pods()[0], pub.InPlaceUpdateReadyConditionType).Status)
		assert.Equal(t, v1beta1.CloneSetConditionFailedUpdate, w.set().Status.Conditions[0].Type)
	}
	refuse = false
	w.settle()
	assert.Equal(t, map[string]int{"app:2": 1}, w.images())
	assert.Empty(t, w.set().Status.Conditions)
}

// A Pod may have been created although the answer was lost.
func TestLostAnswersCreateNoPodTooMany(t *testing.T) {
	for name, lost := range map[string]error{
		"timeout":          apierrors.NewTimeoutError("no answer", 1),
		"connection":       assert.AnError,
		"a retry found it": apierrors.NewAlreadyExists(pods, "web"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "", newSet(3))
			w.Kube.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
				pod := action.(clienttesting.CreateAction).GetObject()
				w.Add(pod.DeepCopyObject())
				return true, nil, lost
			})
			w.step()
			assert.Len(t, w.Pods(), 3)
			assert.NotContains(t, strings.Join(w.Events(), "\n"), "FailedCreate")
		})
	}
}

// Neither the deletion nor the read after it was answered, and the next pass finds the Pod deleted. The caches still show it as serving, so no
// pass may decide before they show the deletion.
func TestLostDeletionIsWaitedFor(t *testing.T) {
	w := rolled(t, "", newSet(3))
	away := true
	w.Kube.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		w.lose(action.(clienttesting.DeleteAction).GetName())
		return true, nil, apierrors.NewTimeoutError("no answer", 1)
	})
	w.Kube.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return away, nil, apierrors.NewTimeoutError("no answer", 1)
	})
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = new(int32(2)) })
	w.Observe()
	_, err := w.reconcile("web")
	require.Error(t, err)
	require.Len(t, w.Pods(), 2)
	require.Zero(t, w.guard.Wait(t.Context(), w.set()), "nobody knows yet")
	away = false
	_, err = w.reconcile("web")
	require.NoError(t, err)
	assert.Positive(t, w.guard.Wait(t.Context(), w.set()))
	w.settle()
	assert.Len(t, w.Pods(), 2)
}

// The creation of a Pod can still arrive for a while after its answer was lost, and the Pod then needs its claim. That time begins with
// the creation, and not with the pass: the requests before it can be slow.
func TestClaimWaitsForALateCreation(t *testing.T) {
	w := newWorld(t, "", newSet(1, func(s *v1beta1.CloneSetSpec) {
		s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	}))
	w.refuse("create", func(clienttesting.Action) error {
		w.Clock.SetTime(controllertest.Now.Add(30 * time.Second))
		return apierrors.NewTimeoutError("no answer", 1)
	})
	w.Observe()
	_, err := w.reconcile("web")
	require.Error(t, err)
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = new(int32(0)) })
	w.Clock.SetTime(controllertest.Now.Add(94 * time.Second))
	w.settle()
	assert.Len(t, w.claimsByName(), 1)
	w.Clock.SetTime(controllertest.Now.Add(95 * time.Second))
	w.settle()
	assert.Empty(t, w.claimsByName())
}

func TestForeignPodIsNotAdopted(t *testing.T) {
	w := newWorld(t, "", newSet(1))
	w.Kube.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		pod := action.(clienttesting.CreateAction).GetObject().DeepCopyObject().(*corev1.Pod)
		pod.OwnerReferences = nil
		w.Add(pod)
		return true, nil, apierrors.NewAlreadyExists(pods, pod.Name)
	})
	w.Observe()
	_, err := w.reconcile("web")
	require.ErrorContains(t, err, "already exists")
}

func TestThrottledCreationIsReportedOnChange(t *testing.T) {
	w := newWorld(t, "", newSet(3, func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.MaxUnavailable = value("1") }))
	w.node.Broken = func(string) bool { return true }
	w.settle()
	told := func() int { return strings.Count(strings.Join(w.Events(), "\n"), "ScaleUpLimited") }
	assert.Equal(t, 1, told())
	w.change(w.names()[0], func(p *corev1.Pod) { p.Status.Message = "still broken" })
	w.settle()
	assert.Equal(t, 0, told())
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](4) })
	w.settle()
	assert.Equal(t, 1, told())
}

func TestUndeletableClaimDoesNotBlockOtherWork(t *testing.T) {
	w := rolled(t, "", newSet(2, knobs("", "1", ""), func(s *v1beta1.CloneSetSpec) {
		s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	}))
	w.Kube.PrependReactor("delete", "persistentvolumeclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(claims, "data", nil)
	})
	w.lose(w.names()[0])
	w.edit(image("app:2"))
	for range 20 {
		w.Observe()
		_, err := w.reconcile("web")
		require.True(t, apierrors.IsForbidden(err), "%v", err)
		w.kubelet()
	}
	assert.Equal(t, map[string]int{"app:2": 2}, w.images())
	assert.Equal(t, v1beta1.CloneSetConditionFailedScale, w.set().Status.Conditions[0].Type)
}
