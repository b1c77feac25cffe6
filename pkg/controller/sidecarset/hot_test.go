package sidecarset

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// hotState returns the images and versions of the two containers, and which of them works.
func hotState(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	working, err := sidecar.Working(pod)
	require.NoError(t, err)
	text := "working " + working["s"]
	for _, name := range []string{"s-1", "s-2"} {
		text += fmt.Sprintf(", %s %s %s/%s", name, sidecar.Container(pod, name).Image, pod.Annotations[versionKey("version."+name)],
			pod.Annotations[versionKey("versionalt."+name)])
	}
	return text
}

// Case sidecarset 18.
func TestHotUpgradeAgainAndAgain(t *testing.T) {
	w := newWorld(t, hot)
	w.start(1)
	w.settle()
	state := func() string { return hotState(t, w.Pods()[0]) }
	hash := func() string { return w.Pods()[0].Annotations["kruise.io/sidecarset-hash"] }
	require.Equal(t, "working s-1, s-1 s:1 1/0, s-2 empty:1 0/1", state())
	for i := range 3 {
		w.edit(image("s:2"))
		version := w.set().ResourceVersion
		w.pass()
		before := "1"
		if i > 0 {
			before = fmt.Sprint(100 * (w.set().Generation - 1))
		}
		require.Equal(t, "working s-2, s-1 s:1 "+before+"/"+version+", s-2 s:2 "+version+"/"+before, state(), "both run")
		upgraded := hash()
		w.pass()
		require.Contains(t, state(), "s-1 s:1", "the new one does not run yet")
		assert.Equal(t, [4]int32{1, 1, 0, 0}, w.counters())
		w.run()
		w.Events()
		w.pass()
		require.Equal(t, "working s-2, s-1 empty:1 0/"+version+", s-2 s:2 "+version+"/0", state(), "the old one is empty")
		assert.Equal(t, []string{"Normal ResetContainerSucceed SidecarSet logs has set the old container to the empty image"}, w.Events())
		assert.Equal(t, upgraded, hash(), "the flip does not change the hash")
		w.pass()
		assert.Equal(t, [4]int32{1, 1, 0, 0}, w.counters(), "the old instance still runs")
		w.settle()
		assert.Equal(t, [4]int32{1, 1, 1, 1}, w.counters())

		w.edit(image("s:1"))
		w.settle()
		require.Equal(t, "working s-1, s-1 s:1 "+w.set().ResourceVersion+"/0, s-2 empty:1 0/"+w.set().ResourceVersion, state())
		assert.Equal(t, [4]int32{1, 1, 1, 1}, w.counters())
	}
}

// Case sidecarset 19.
func TestHotUpgradeThatNeverBecomesReadyIsReplaced(t *testing.T) {
	w := newWorld(t, hot)
	w.node.Broken = func(image string) bool { return image == "s:bad" }
	w.start(1)
	w.settle()
	serving := w.Pods()[0].Status.ContainerStatuses[1].ContainerID
	w.edit(image("s:bad"))
	w.settle()
	require.Contains(t, hotState(t, w.Pods()[0]), "s-1 s:1")
	require.Contains(t, hotState(t, w.Pods()[0]), "s-2 s:bad")
	w.edit(image("s:3"))
	w.pass()
	assert.Contains(t, hotState(t, w.Pods()[0]), "working s-2, s-1 s:1")
	assert.Contains(t, hotState(t, w.Pods()[0]), "s-2 s:3")
	assert.Equal(t, serving, w.Pods()[0].Status.ContainerStatuses[1].ContainerID, "the old one keeps serving")
	w.settle()
	assert.Equal(t, "s:3", sidecar.Container(w.Pods()[0], "s-2").Image)
	assert.Equal(t, "empty:1", sidecar.Container(w.Pods()[0], "s-1").Image)
	assert.Equal(t, [4]int32{1, 1, 1, 1}, w.counters())
}

// Until the flip, the old container has the old image. It works again, and the new one is emptied.
// Case sidecarset 19.
func TestReturnToTheOldImageBeforeTheFlip(t *testing.T) {
	for name, bad := range map[string]string{"the new one never becomes ready": "s:bad", "both serve": "s:2"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, hot)
			w.node.Broken = func(image string) bool { return image == "s:bad" }
			w.start(1)
			w.settle()
			serving := w.Pods()[0].Status.ContainerStatuses[1].ContainerID
			w.edit(image(bad))
			w.pass()
			w.run()
			require.Contains(t, hotState(t, w.Pods()[0]), "working s-2, s-1 s:1")
			// The flip waits for all containers of the Pod.
			w.change(w.Pods()[0], func(pod *corev1.Pod) { pod.Status.ContainerStatuses[0].Ready = false })
			w.edit(image("s:1"))
			version := w.set().ResourceVersion
			w.pass()
			assert.Contains(t, hotState(t, w.Pods()[0]), "working s-1, s-1 s:1 "+version+"/")
			w.settle()
			assert.Contains(t, hotState(t, w.Pods()[0]), "working s-1, s-1 s:1 "+version+"/0, s-2 empty:1 0/")
			assert.Equal(t, serving, w.Pods()[0].Status.ContainerStatuses[1].ContainerID, "it has never stopped")
			assert.Equal(t, [4]int32{1, 1, 1, 1}, w.counters())
		})
	}
}

func emptyImage(value string) func(*v1beta1.SidecarSet) {
	return func(set *v1beta1.SidecarSet) { set.Spec.Containers[0].UpgradeStrategy.HotUpgradeEmptyImage = value }
}

// Another empty image is no upgrade that has begun: no container of any Pod changes.
// Case sidecarset 18a.
func TestAnotherEmptyImageTouchesNoPod(t *testing.T) {
	for name, edits := range map[string][]func(*v1beta1.SidecarSet){
		"the empty image": {emptyImage("empty:2")}, "both images": {emptyImage("empty:2"), image("s:2")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, hot, maxUnavailable(intstr.FromInt32(1)))
			w.start(3)
			w.settle()
			w.edit(edits...)
			w.settle()
			for _, pod := range w.Pods() {
				assert.Equal(t, "working s-1, s-1 s:1 1/0, s-2 empty:1 0/1", hotState(t, pod))
			}
			assert.Equal(t, [4]int32{3, 0, 3, 0}, w.counters(), "they are ready, and not updated")
		})
	}
}

// An upgrade that has begun ends, although its Pod cannot be upgraded again.
// Case sidecarset 18a.
func TestUpgradeEndsWithAnotherEmptyImage(t *testing.T) {
	w := newWorld(t, hot)
	w.start(1)
	w.settle()
	w.edit(image("s:2"))
	w.pass()
	require.Contains(t, hotState(t, w.Pods()[0]), "working s-2, s-1 s:1 1/")
	w.edit(emptyImage("empty:2"))
	w.settle()
	assert.Contains(t, hotState(t, w.Pods()[0]), "working s-2, s-1 empty:2 0/")
}

// Case sidecarset 20.
func TestStaleCacheDoesNotFlipTwice(t *testing.T) {
	w := newWorld(t, hot)
	w.start(1)
	w.settle()
	w.edit(image("s:2"))
	w.pass()
	w.run()
	w.Observe()
	require.NoError(t, w.passOverStaleCaches())
	state := hotState(t, w.Pods()[0])
	w.Events()
	conflict := &conflictOnce{t: t}
	w.Kube.PrependReactor("patch", "pods", conflict.react)
	require.NoError(t, w.passOverStaleCaches(), "the cache does not show the flip")
	assert.Equal(t, 1, conflict.asked)
	assert.Equal(t, state, hotState(t, w.Pods()[0]))
	assert.Empty(t, w.Events())
}

type conflictOnce struct {
	t     *testing.T
	asked int
}

func (c *conflictOnce) react(clienttesting.Action) (bool, runtime.Object, error) {
	c.asked++
	return c.asked == 1, nil, newConflict()
}

// The bound holds for hot upgrades too.
func TestHotUpgradeKeepsItsBound(t *testing.T) {
	w := newWorld(t, hot, maxUnavailable(intstr.FromInt32(2)))
	w.start(6)
	w.settle()
	w.edit(image("s:2"))
	w.settle(w.bound(2))
	assert.Equal(t, [4]int32{6, 6, 6, 6}, w.counters())
}

// A pass that ends hot upgrades starts none: it has decided on Pods as they were before.
func TestPassThatFlipsUpgradesNothing(t *testing.T) {
	w := newWorld(t, hot, maxUnavailable(intstr.FromInt32(2)), partition(intstr.FromInt32(1)))
	w.start(2)
	w.settle()
	w.edit(image("s:2"))
	w.pass()
	w.run()
	w.edit(partition(intstr.FromInt32(0)))
	w.pass()
	assert.Equal(t, 1, w.count("s-1", "empty:1"))
	assert.Equal(t, 1, w.count("s-2", "s:2"))
	w.pass()
	assert.Equal(t, 2, w.count("s-2", "s:2"))
}

// A budget refuses to end a hot upgrade. A Pod that is not ready is upgraded all the same, and may then free the budget.
func TestRefusedFlipHoldsUpNoOtherPod(t *testing.T) {
	w := newWorld(t, hot, partition(intstr.FromInt32(1)))
	w.start(2)
	w.settle()
	w.edit(image("s:2"))
	w.pass()
	w.run()
	upgraded, other := w.Pods()[0], w.Pods()[1]
	if sidecar.Container(other, "s-2").Image == "s:2" {
		upgraded, other = other, upgraded
	}
	w.change(other, func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses[1].Ready = false
		controllertest.SetConditionOf(pod, corev1.PodReady, corev1.ConditionFalse, w.Clock.Now())
	})
	w.Kube.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if patch, ok := action.(clienttesting.PatchAction); !ok || patch.GetName() != upgraded.Name || patch.GetSubresource() != "" {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), upgraded.Name, errors.New("no disruption left"))
	})
	w.edit(partition(intstr.FromInt32(0)))
	require.ErrorContains(t, w.tryPass(), "no disruption left")
	assert.Zero(t, w.count("s-1", "empty:1"))
	assert.Equal(t, 2, w.count("s-2", "s:2"))
}
