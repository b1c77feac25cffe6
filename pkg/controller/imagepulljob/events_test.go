package imagepulljob

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

func keys(names ...string) (keys []types.NamespacedName) {
	for _, name := range names {
		keys = append(keys, types.NamespacedName{Namespace: "ns", Name: name})
	}
	return keys
}

// There are a thousand NodeImages. Three jobs have a tag on each of them.
// Case image-predownload 43.
func TestOnlyJobsOfTheTagAreWoken(t *testing.T) {
	other := func(image string) func(*v1beta1.ImagePullJob) {
		return func(job *v1beta1.ImagePullJob) { job.Spec.Image = image }
	}
	ended := func(job *v1beta1.ImagePullJob) { job.Status.CompletionTime = new(metav1.NewTime(now)) }
	w := newWorld(t, append(nodeImages(1000),
		newJob("a", limit("1000")), newJob("b", limit("1000"), other("nginx:2")), newJob("c", limit("1000"), other("redis:6")))...)
	for _, name := range []string{"a", "b", "c"} {
		w.step(name)
	}
	w.Add(newJob("ended", ended))
	w.Observe()
	change := func(edit func(*v1beta1.NodeImage)) []types.NamespacedName {
		before := w.image("n500")
		after := before.DeepCopy()
		edit(after)
		return w.events().nodeImage(before, after)
	}
	report := func(name, tag string) func(*v1beta1.NodeImage) {
		return func(image *v1beta1.NodeImage) {
			image.Status.Pulling++
			image.Status.ImageStatuses = map[string]v1beta1.ImageStatus{name: {Tags: []v1beta1.ImageTagStatus{{Tag: tag, Phase: v1beta1.ImagePhasePulling}}}}
		}
	}
	assert.Equal(t, keys("a"), change(report("nginx", "1.9.1")))
	assert.Equal(t, keys("b"), change(report("nginx", "2")))
	assert.Equal(t, keys("c"), change(report("redis", "6")))
	assert.Empty(t, change(report("nginx", "3")), "without an owner")
	assert.Empty(t, change(func(image *v1beta1.NodeImage) { image.Status.Desired++ }), "counts affect no job")
	assert.ElementsMatch(t, keys("a", "b"), change(func(image *v1beta1.NodeImage) {
		entry := image.Spec.Images["nginx"]
		entry.SandboxConfig = &v1beta1.SandboxConfig{}
		image.Spec.Images["nginx"] = entry
	}), "all jobs of the image")
	assert.Equal(t, keys("c"), change(func(image *v1beta1.NodeImage) { delete(image.Spec.Images, "redis") }))
	assert.Equal(t, keys("a"), change(func(image *v1beta1.NodeImage) {
		image.Spec.Images["nginx"].Tags[0].OwnerReferences = append(image.Spec.Images["nginx"].Tags[0].OwnerReferences, ownerRef(newJob("ended", ended)))
	}), "who has ended sleeps on")
}

// Case image-predownload 5.
func TestNodeLabelsWakeJobsThatSelectThem(t *testing.T) {
	selects := func(value string) func(*v1beta1.ImagePullJob) {
		return func(job *v1beta1.ImagePullJob) {
			job.Spec.Selector = &v1beta1.ImagePullJobNodeSelector{LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"zone": value}}}
		}
	}
	w := newWorld(t, newJob("in-a", selects("a")), newJob("in-b", selects("b")), newJob("all"), newJob("pods", beside(nil)), newJob("named", named("n1")))
	w.Observe()
	inA := &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"zone": "a"}}}
	moved := inA.DeepCopy()
	moved.Labels = map[string]string{"zone": "b"}
	assert.ElementsMatch(t, keys("in-a", "in-b"), w.events().nodeImage(inA, moved))
	assert.ElementsMatch(t, keys("in-a", "all", "pods", "named"), w.events().nodeImage(nil, inA))
	assert.ElementsMatch(t, keys("in-b", "all", "pods", "named"), w.events().nodeImage(moved, nil))
}

// Case image-predownload 16.
func TestPodsWakeJobsThatSelectThem(t *testing.T) {
	other := func(p *corev1.Pod) { p.Labels = map[string]string{"app": "b"} }
	w := newWorld(t, newJob("a", beside(map[string]string{"app": "a"})), newJob("b", beside(map[string]string{"app": "b"})), newJob("all"))
	w.Observe()
	running := phase(corev1.PodRunning)
	for name, tc := range map[string]struct {
		before, after *corev1.Pod
		want          []types.NamespacedName
	}{
		"it is bound":           {pod("p", ""), pod("p", "n1"), keys("a")},
		"it runs":               {pod("p", "n1"), pod("p", "n1", running), nil},
		"it has ended":          {pod("p", "n1"), pod("p", "n1", phase(corev1.PodSucceeded)), keys("a")},
		"it is another's":       {pod("p", "n1"), pod("p", "n1", other), keys("a", "b")},
		"it comes, unscheduled": {nil, pod("p", ""), nil},
		"it comes":              {nil, pod("p", "n1"), keys("a")},
		"it goes":               {pod("p", "n1"), nil, keys("a")},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after metav1.Object
			if tc.before != nil {
				before = tc.before
			}
			if tc.after != nil {
				after = tc.after
			}
			assert.ElementsMatch(t, tc.want, w.events().pod(before, after))
		})
	}
}

// TestConflictsAreSolvedOnTheLiveObject checks that nothing is lost if another job writes between the read and the write.
func TestConflictsAreSolvedOnTheLiveObject(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a"), newJob("b"))...)
	w.Observe() // This is what job a sees.
	first := true
	w.Kruise.PrependReactor("update", "nodeimages", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if !first || action.GetSubresource() != "" {
			return false, nil, nil
		}
		first = false
		stored := &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: v1beta1.NodeImageSpec{Images: map[string]v1beta1.ImageSpec{
			"nginx": {Tags: []v1beta1.ImageTagSpec{{Tag: "1.9.1", Version: 6, OwnerReferences: []corev1.ObjectReference{ownerRef(newJob("b"))}}}},
			"redis": {Tags: []v1beta1.ImageTagSpec{{Tag: "6"}}},
		}}}
		require.NoError(t, w.Kruise.Tracker().Update(v1beta1.SchemeGroupVersion.WithResource("nodeimages"), stored, ""))
		return true, nil, apierrors.NewConflict(v1beta1.SchemeGroupVersion.WithResource("nodeimages").GroupResource(), "n1", fmt.Errorf("changed"))
	})
	_, err := w.Pass("ns", "a")
	require.NoError(t, err)
	images := w.image("n1").Spec.Images
	assert.Contains(t, images, "redis", "nothing of the other's is lost")
	require.Len(t, images["nginx"].Tags, 1)
	assert.EqualValues(t, 7, images["nginx"].Tags[0].Version)
	assert.Len(t, images["nginx"].Tags[0].OwnerReferences, 2)
}

// TestStaleCacheAsksNoNode checks that a job waits until the cache shows its last write. By the stale cache, it would ask one
// node too many.
func TestStaleCacheAsksNoNode(t *testing.T) {
	w := newWorld(t, append(nodeImages(3), newJob("a"))...)
	w.Observe()
	w.r.guard.Wrote("uid-a", images, "7")
	require.NoError(t, w.r.byOwner.Replace(w.r.byOwner.List(), "6"))
	result, err := w.Pass("ns", "a")
	require.NoError(t, err)
	assert.Equal(t, 5*time.Second, result.RequeueAfter)
	assert.Empty(t, w.Writes())
	require.NoError(t, w.r.byOwner.Replace(w.r.byOwner.List(), "7"))
	_, err = w.Pass("ns", "a")
	require.NoError(t, err)
	assert.Equal(t, []string{"n1"}, w.unfinished())
}

// refuseWrites makes the server refuse changes of NodeImages for good, as if they listed too many images.
func (w *world) refuseWrites(refused func(node string) bool) {
	w.Kruise.PrependReactor("update", "nodeimages", func(action clienttesting.Action) (bool, runtime.Object, error) {
		update, ok := action.(clienttesting.UpdateAction)
		if name := update.GetObject().(*v1beta1.NodeImage).Name; ok && refused(name) {
			return true, nil, apierrors.NewInvalid(v1beta1.SchemeGroupVersion.WithKind("NodeImage").GroupKind(), name, nil)
		}
		return false, nil, nil
	})
}

// A full NodeImage counts as failed, and the next node is asked in its place, even with parallelism 1.
func TestFullNodeImagesFailAndOthersAreAsked(t *testing.T) {
	w := newWorld(t, append(nodeImages(4), newJob("a"))...)
	w.refuseWrites(func(node string) bool { return node == "n1" || node == "n2" })
	w.step("a")
	assert.Equal(t, []string{"n3"}, w.unfinished())
	status := w.job("a").Status
	assert.Equal(t, []int32{4, 1, 2}, []int32{status.Desired, status.Active, status.Failed})
	assert.Equal(t, []string{"n1", "n2"}, status.FailedNodes)
	events := w.Events()
	require.Len(t, events, 2)
	assert.Contains(t, events[0], "Warning FailedPullImage NodeImage n1 was rejected")

	w.answer("n3", v1beta1.ImagePhaseSucceeded)
	w.step("a")
	w.answer("n4", v1beta1.ImagePhaseSucceeded)
	w.settle("a")
	status = w.job("a").Status
	assert.Equal(t, []int32{4, 0, 2, 2}, []int32{status.Desired, status.Active, status.Failed, status.Succeeded})
	assert.NotNil(t, status.CompletionTime)
	assert.Equal(t, []string{"Warning NodesFailed 2 of 4 nodes have not pulled the image: n1, n2"}, w.Events(), "no node is asked twice")
}

func TestJobEndsWhenAllNodesRefuse(t *testing.T) {
	w := newWorld(t, append(nodeImages(refusedAtOnce+50), newJob("a"))...)
	w.refuseWrites(func(string) bool { return true })
	w.step("a")
	assert.Less(t, w.job("a").Status.Failed, int32(refusedAtOnce+50), "a pass is limited")
	w.settle("a")
	assert.EqualValues(t, refusedAtOnce+50, w.job("a").Status.Failed)
	assert.Equal(t, "job has completed", w.job("a").Status.Message)
}

func TestEndlessJobAsksFullNodeImagesAgain(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a", never))...)
	full := true
	w.refuseWrites(func(string) bool { return full })
	w.step("a")
	assert.EqualValues(t, 1, w.job("a").Status.Failed)
	full = false
	assert.Equal(t, refusalAge, w.step("a"))
	assert.Empty(t, w.unfinished())
	w.pass(refusalAge)
	w.step("a")
	assert.Equal(t, []string{"n1"}, w.unfinished())
}
