package imagepulljob

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// Cases image-predownload 9, 12.
func TestJobLimitsConcurrentNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		parallelism func(*v1beta1.ImagePullJob)
		most        int
	}{
		"2":           {limit("2"), 2},
		"one, unsaid": {func(*v1beta1.ImagePullJob) {}, 1},
		"as text": {func(job *v1beta1.ImagePullJob) {
			limit("3")(job)
			job.Spec.Parallelism.Type, job.Spec.Parallelism.StrVal = 1, "3"
		}, 3},
		"more than there are": {limit("10"), 5},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(nodeImages(5), newJob("a", tc.parallelism))...)
			most := 0
			for round := 0; w.job("a").Status.CompletionTime == nil; round++ {
				require.Less(t, round, 50)
				w.step("a")
				pulling := w.unfinished()
				most = max(most, len(pulling))
				require.LessOrEqual(t, len(pulling), tc.most)
				assert.EqualValues(t, len(pulling), w.job("a").Status.Active, "what it asked for counts at once")
				if len(pulling) > 0 {
					w.answer(pulling[0], v1beta1.ImagePhasePulling)
					w.step("a")
					w.answer(pulling[0], v1beta1.ImagePhaseSucceeded)
				}
			}
			assert.Equal(t, tc.most, most)
			status := w.job("a").Status
			assert.True(t, status.StartTime.Time.Equal(now))
			status.StartTime, status.CompletionTime = nil, nil
			assert.Equal(t, v1beta1.ImagePullJobStatus{Desired: 5, Succeeded: 5, Message: "job has completed"}, status)
			w.settle("a")
			assert.Empty(t, w.job("a").Finalizers)
			assert.Zero(t, w.step("a"))
			assert.Empty(t, w.Writes(), "it stays")
		})
	}
}

// Case image-predownload 9.
func TestProgressMessages(t *testing.T) {
	w := newWorld(t, append(nodeImages(3), newJob("a", limit("3")))...)
	w.step("a")
	assert.Equal(t, "job is running, progress 0.0%", w.job("a").Status.Message)
	w.answer("n1", v1beta1.ImagePhaseSucceeded)
	w.step("a")
	assert.Equal(t, "job is running, progress 33.3%", w.job("a").Status.Message)
	w.answer("n2", v1beta1.ImagePhaseFailed)
	w.step("a")
	assert.Equal(t, "job is running, progress 66.7%", w.job("a").Status.Message)
}

// Case image-predownload 10.
func TestFailedNodeIsNamed(t *testing.T) {
	w := newWorld(t, append(nodeImages(3), newJob("a", limit("3")))...)
	w.step("a")
	w.answer("n1", v1beta1.ImagePhaseSucceeded)
	w.answer("n2", v1beta1.ImagePhaseFailed)
	w.answer("n3", v1beta1.ImagePhaseSucceeded)
	w.step("a")
	status := w.job("a").Status
	assert.NotNil(t, status.CompletionTime)
	assert.EqualValues(t, 1, status.Failed)
	assert.Equal(t, []string{"n2"}, status.FailedNodes)
	assert.Equal(t, "job has completed", status.Message)
	assert.Contains(t, w.Events(), "Warning NodesFailed 1 of 3 nodes have not pulled the image: n2")
}

// Case image-predownload 11.
func TestParallelismZeroPauses(t *testing.T) {
	w := newWorld(t, append(nodeImages(3), newJob("a", limit("0")))...)
	w.settle("a")
	assert.Empty(t, w.unfinished())
	assert.Nil(t, w.job("a").Status.CompletionTime)
	w.edit("a", limit("1"))
	w.settle("a")
	assert.Equal(t, []string{"n1"}, w.unfinished())
}

// Cases image-predownload 13, 15.
func TestWhichNodesAreChosen(t *testing.T) {
	byLabel := func(job *v1beta1.ImagePullJob) {
		job.Spec.Selector = &v1beta1.ImagePullJobNodeSelector{LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"zone": "a"}}}
	}
	ending := func(p *corev1.Pod) { p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: now}, []string{"a/b"} }
	foreign := func(p *corev1.Pod) { p.Namespace = "other" }
	ordinals := func(job *v1beta1.ImagePullJob) {
		job.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "StatefulSet", Name: "s", Controller: new(true)}}
	}
	tests := map[string]struct {
		job  func(*v1beta1.ImagePullJob)
		pods []runtime.Object
		want []string
	}{
		"all":               {func(*v1beta1.ImagePullJob) {}, nil, []string{"n1", "n2", "n3", "n4"}},
		"named, one absent": {named("n3", "missing", "n1"), nil, []string{"n3", "n1"}},
		"by label":          {byLabel, nil, []string{"n2", "n4"}},
		"beside Pods": {beside(map[string]string{"app": "a"}), []runtime.Object{
			pod("p1", "n1"), pod("p2", "n1"), pod("p3", "n2"), pod("p4", "n3", phase(corev1.PodSucceeded)), pod("p5", "n3", phase(corev1.PodFailed)),
			pod("p6", "n3", ending), pod("p7", ""), pod("p8", "n4", foreign), pod("p9", "without-image"),
		}, []string{"n1", "n2"}},
		"beside Pods, as a StatefulSet updates them": {func(job *v1beta1.ImagePullJob) { beside(map[string]string{"app": "a"})(job); ordinals(job) }, []runtime.Object{
			pod("s-2", "n1"), pod("s-10", "n3"), pod("s-1", "n2"), pod("s-0", "n1"),
		}, []string{"n3", "n1", "n2"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			images := nodeImages(4)
			for _, i := range []int{1, 3} {
				images[i].(*v1beta1.NodeImage).Labels = map[string]string{"zone": "a"}
			}
			job := newJob("a", tc.job)
			w := newWorld(t, append(append(images, job), tc.pods...)...)
			w.Observe()
			chosen, err := w.r.choose(job)
			require.NoError(t, err)
			var names []string
			for _, image := range chosen {
				names = append(names, image.Name)
			}
			assert.Equal(t, tc.want, names)
			w.step("a")
			assert.EqualValues(t, len(tc.want), w.job("a").Status.Desired)
			assert.Equal(t, tc.want[:1], w.unfinished(), "the first of them is the first to be asked")
		})
	}
}

// TestChosenAsACloneSetUpdates checks that the nodes of Pods which the CloneSet updates first are asked first.
func TestChosenAsACloneSetUpdates(t *testing.T) {
	job := newJob("a", beside(map[string]string{"app": "a"}))
	job.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "web", Controller: new(true)}}
	set := &v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}}
	set.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdateCloneSetStrategy{}
	serving := func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	w := newWorld(t, append(nodeImages(3), job, set, pod("p1", "n1", serving), pod("p2", "n2", serving), pod("p3", "n3", phase(corev1.PodPending)))...)
	w.step("a")
	assert.Equal(t, []string{"n3"}, w.unfinished(), "a Pod out of service is updated first")
}

// Case image-predownload 16.
func TestNodeOfNewPodIsServed(t *testing.T) {
	w := newWorld(t, append(nodeImages(4), newJob("a", beside(map[string]string{"app": "a"}), limit("9")), pod("p1", "n1"), pod("p2", "n2"))...)
	w.step("a")
	assert.Equal(t, []string{"n1", "n2"}, w.unfinished())
	w.Add(pod("p3", "n4"))
	w.step("a")
	assert.EqualValues(t, 3, w.job("a").Status.Desired)
	assert.Equal(t, []string{"n1", "n2", "n4"}, w.unfinished())
}

// Case image-predownload 18.
func TestJobBeyondItsDeadlineEnds(t *testing.T) {
	deadline := func(job *v1beta1.ImagePullJob) { job.Spec.CompletionPolicy.ActiveDeadlineSeconds = ptr.To[int64](60) }
	w := newWorld(t, append(nodeImages(4), newJob("a", limit("2"), deadline))...)
	assert.Equal(t, time.Minute, w.step("a"), "it looks again then")
	w.answer("n1", v1beta1.ImagePhaseSucceeded)
	w.Clock.SetTime(now.Add(59*time.Second + 500*time.Millisecond))
	assert.Equal(t, time.Second, w.step("a"))
	assert.Equal(t, []string{"n2", "n3"}, w.unfinished())
	w.Clock.SetTime(now.Add(time.Minute))
	w.step("a")
	status := w.job("a").Status
	assert.Equal(t, "job exceeds activeDeadlineSeconds", status.Message)
	assert.NotNil(t, status.CompletionTime)
	assert.Equal(t, []string{"n2", "n3", "n4"}, status.FailedNodes)
	assert.Equal(t, []int32{4, 0, 1, 3}, []int32{status.Desired, status.Active, status.Succeeded, status.Failed})
	assert.Nil(t, w.tag("n4"), "no other node is asked")
}

// Case image-predownload 21.
func TestEndlessJobAsksAgain(t *testing.T) {
	for name, withReport := range map[string]bool{"the report is still there": false, "the report is gone too": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(nodeImages(1), newJob("a", never))...)
			w.step("a")
			require.Zero(t, w.tag("n1").Version)
			assert.EqualValues(t, 1800, *w.tag("n1").PullPolicy.ActiveDeadlineSeconds)
			ttl := *w.tag("n1").PullPolicy.TTLSecondsAfterFinished
			assert.True(t, ttl >= 86400-600 && ttl < 86400+600, "about a day: %d", ttl)
			w.answer("n1", v1beta1.ImagePhaseSucceeded)
			w.settle("a")
			assert.Nil(t, w.job("a").Status.CompletionTime)
			assert.Equal(t, "job is running, progress 100.0%", w.job("a").Status.Message)

			w.Observe()
			w.drop("n1", withReport)
			w.step("a")
			assert.EqualValues(t, 1, w.tag("n1").Version, "an old answer is none")
			assert.EqualValues(t, 1, w.job("a").Status.Active)
		})
	}
}

// Case image-predownload 22.
func TestEndlessJobServesNewNodes(t *testing.T) {
	w := newWorld(t, newJob("a", never))
	w.step("a")
	assert.Equal(t, "job is running, no progress", w.job("a").Status.Message)
	assert.Nil(t, w.job("a").Status.CompletionTime)
	fresh := nodeImages(1)[0].(*v1beta1.NodeImage)
	w.Observe()
	assert.Equal(t, []types.NamespacedName{{Namespace: "ns", Name: "a"}}, w.events().nodeImage(nil, fresh))
	w.Add(fresh)
	w.step("a")
	assert.Equal(t, []string{"n1"}, w.unfinished())
}

func TestJobWithoutNodesIsDoneAtOnce(t *testing.T) {
	w := newWorld(t, newJob("a"))
	w.step("a")
	assert.NotNil(t, w.job("a").Status.CompletionTime)
	assert.Equal(t, "job has completed", w.job("a").Status.Message)
	w.step("a")
	events := w.Events()
	require.Len(t, events, 1, "%v", events)
	assert.Contains(t, events[0], "Warning NoNodes the job selects no node")
}

// Case image-predownload 23.
func TestJobIsDeletedAfterItsTTL(t *testing.T) {
	w := newWorld(t, newJob("a", func(job *v1beta1.ImagePullJob) { job.Spec.CompletionPolicy.TTLSecondsAfterFinished = ptr.To[int32](5) }))
	w.step("a")
	assert.Equal(t, 5*time.Second, w.step("a"))
	w.Clock.SetTime(now.Add(4 * time.Second))
	assert.Equal(t, time.Second, w.step("a"))
	w.Writes()
	w.Clock.SetTime(now.Add(5 * time.Second))
	w.step("a")
	assert.Equal(t, []string{"delete imagepulljobs a"}, w.Writes())
}

// Case image-predownload 24.
func TestSecondJobPullsTheTagAgain(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a"), newJob("b", func(job *v1beta1.ImagePullJob) {
		job.Spec.PullPolicy.TimeoutSeconds = ptr.To[int32](7)
		job.Spec.ImagePullPolicy = v1beta1.PullAlways
		job.Spec.SandboxConfig = &v1beta1.SandboxConfig{Labels: map[string]string{"x": "y"}}
	}))...)
	w.step("a")
	w.answer("n1", v1beta1.ImagePhaseSucceeded)
	w.Clock.SetTime(now.Add(time.Minute))
	w.step("b")
	tag := w.tag("n1")
	assert.EqualValues(t, 1, tag.Version)
	assert.True(t, tag.CreatedAt.Time.Equal(now.Add(time.Minute)), "its time starts again")
	assert.Equal(t, []types.UID{"uid-a", "uid-b"}, []types.UID{tag.OwnerReferences[0].UID, tag.OwnerReferences[1].UID})
	assert.EqualValues(t, 7, *tag.PullPolicy.TimeoutSeconds, "the pull that the new owner asks for has its limits")
	assert.Equal(t, v1beta1.PullAlways, tag.ImagePullPolicy)
	assert.Equal(t, map[string]string{"x": "y"}, w.image("n1").Spec.Images["nginx"].SandboxConfig.Labels)
	w.step("a")
	assert.EqualValues(t, 1, w.job("a").Status.Active, "what the job counts follows the new version")
	w.answer("n1", v1beta1.ImagePhaseSucceeded)
	w.step("a")
	w.step("b")
	assert.NotNil(t, w.job("a").Status.CompletionTime)
	assert.NotNil(t, w.job("b").Status.CompletionTime)
}

// TestJobChangesItsImage checks that nothing remains of the first image when the job's image changes.
func TestJobChangesItsImage(t *testing.T) {
	w := newWorld(t, append(nodeImages(2), newJob("a", limit("2")), newJob("b", limit("2")))...)
	w.step("a")
	w.step("b")
	w.edit("a", func(job *v1beta1.ImagePullJob) { job.Spec.Image = "redis:6" })
	w.settle("a")
	for _, node := range []string{"n1", "n2"} {
		images := w.image(node).Spec.Images
		require.Len(t, images["nginx"].Tags, 1)
		require.Len(t, images["nginx"].Tags[0].OwnerReferences, 1)
		assert.Equal(t, "b", images["nginx"].Tags[0].OwnerReferences[0].Name, "it stays for the other job")
		assert.EqualValues(t, 1, images["nginx"].Tags[0].Version, "and nothing is pulled again for it")
		assert.Equal(t, "a", images["redis"].Tags[0].OwnerReferences[0].Name)
	}
	w.edit("b", func(job *v1beta1.ImagePullJob) { job.Spec.Image = "redis:6" })
	w.settle("b")
	assert.NotContains(t, w.image("n1").Spec.Images, "nginx", "no job needs it")
}

// Case image-predownload 34.
func TestTwoNamesOfOneImageAreOneTag(t *testing.T) {
	as := func(image string) func(*v1beta1.ImagePullJob) {
		return func(job *v1beta1.ImagePullJob) { job.Spec.Image = image }
	}
	w := newWorld(t, append(nodeImages(1), newJob("a", as("docker.io/library/busybox")), newJob("b", as("busybox:latest")))...)
	w.step("a")
	w.step("b")
	images := w.image("n1").Spec.Images
	require.Len(t, images, 1)
	require.Len(t, images["busybox"].Tags, 1)
	assert.Equal(t, "latest", images["busybox"].Tags[0].Tag)
	assert.Len(t, images["busybox"].Tags[0].OwnerReferences, 2)
}

// Case image-predownload 33.
func TestDigestIsUsedAsTag(t *testing.T) {
	const digest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	w := newWorld(t, append(nodeImages(1), newJob("a", func(job *v1beta1.ImagePullJob) { job.Spec.Image = "nginx@" + digest }))...)
	w.step("a")
	assert.Equal(t, digest, w.image("n1").Spec.Images["nginx"].Tags[0].Tag)
}

// Cases image-predownload 46, 47: a node that does not answer keeps its job waiting, and others pull meanwhile.
func TestNodeWithoutAnAgentDoesNotDelayOthers(t *testing.T) {
	for name, edit := range map[string]func(*v1beta1.ImagePullJob){"Always": func(*v1beta1.ImagePullJob) {}, "Never": never} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(nodeImages(5), newJob("a", limit("4"), edit))...)
			for range 10 {
				w.step("a")
				for _, node := range w.unfinished() {
					if node != "n3" {
						w.answer(node, v1beta1.ImagePhaseSucceeded)
					}
				}
			}
			status := w.job("a").Status
			assert.Equal(t, []int32{5, 4, 1, 0}, []int32{status.Desired, status.Succeeded, status.Active, status.Failed})
			assert.Nil(t, status.CompletionTime)

			w.answer("n3", v1beta1.ImagePhaseFailed)
			w.settle("a")
			status = w.job("a").Status
			assert.Equal(t, []int32{5, 4, 0, 1}, []int32{status.Desired, status.Succeeded, status.Active, status.Failed})
			assert.Equal(t, []string{"n3"}, status.FailedNodes)
			assert.Equal(t, name == "Always", status.CompletionTime != nil)
		})
	}
}

// TestLargeJobsPauseBetweenPasses checks that one pass covers the reports of many nodes, if many may pull at once. A job that asks one
// node after the other never waits.
func TestLargeJobsPauseBetweenPasses(t *testing.T) {
	w := newWorld(t, append(nodeImages(6), newJob("a", limit("5")), newJob("single"))...)
	w.r.pace.Large = 5
	w.settle("a")
	w.pass(time.Minute)
	w.answer("n1", v1beta1.ImagePhaseSucceeded)
	w.step("a")
	assert.EqualValues(t, 1, w.job("a").Status.Succeeded, "the first event after a while is worked on at once")
	w.answer("n2", v1beta1.ImagePhaseSucceeded)
	wait := w.step("a")
	assert.EqualValues(t, 1, w.job("a").Status.Succeeded, "the next one waits for others to come")
	w.answer("n3", v1beta1.ImagePhaseSucceeded)
	w.pass(wait)
	w.step("a")
	assert.EqualValues(t, 3, w.job("a").Status.Succeeded)

	w.settle("single")
	for i := range 3 {
		node := fmt.Sprintf("n%d", i+1)
		w.answer(node, v1beta1.ImagePhaseSucceeded)
		w.step("single")
		assert.EqualValues(t, i+1, w.job("single").Status.Succeeded, node)
	}
}

// TestPassesAreShort checks that a change of the job takes effect while it asks many nodes.
func TestPassesAreShort(t *testing.T) {
	w := newWorld(t, append(nodeImages(300), newJob("a", limit("300")))...)
	var written atomic.Int32
	w.Kruise.PrependReactor("update", "nodeimages", func(clienttesting.Action) (bool, runtime.Object, error) {
		if written.Add(1) == 1 {
			w.pass(2 * time.Second)
		}
		return false, nil, nil
	})
	w.step("a")
	asked := len(w.unfinished())
	assert.Less(t, asked, 150)
	assert.EqualValues(t, asked, w.job("a").Status.Active)
	w.edit("a", limit("0"))
	w.settle("a")
	assert.Len(t, w.unfinished(), asked)
	w.edit("a", limit("300"))
	w.pass(time.Second)
	w.settle("a")
	assert.Len(t, w.unfinished(), 300)
}

// TestJobDoesNotEndByAnOldSpec checks that a job whose image changed while its last pass ran pulls the new image.
func TestJobDoesNotEndByAnOldSpec(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a"))...)
	w.step("a")
	w.answer("n1", v1beta1.ImagePhaseSucceeded)
	edited := w.job("a").DeepCopy()
	edited.Spec.Image, edited.Generation = "nginx:2", edited.Generation+1
	changed := false
	w.Kruise.PrependReactor("update", "imagepulljobs", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if changed || action.GetSubresource() != "status" {
			return false, nil, nil
		}
		changed = true
		require.NoError(t, w.Kruise.Tracker().Update(v1beta1.SchemeGroupVersion.WithResource("imagepulljobs"), edited, "ns"))
		return true, nil, apierrors.NewConflict(schema.GroupResource{}, "a", nil)
	})
	w.Observe()
	_, err := w.Pass("ns", "a")
	require.ErrorContains(t, err, "the spec has changed")
	assert.Nil(t, w.job("a").Status.CompletionTime)
	w.settle("a")
	assert.Nil(t, w.job("a").Status.CompletionTime)
	require.NotEmpty(t, w.image("n1").Spec.Images["nginx"].Tags)
	assert.Equal(t, "2", w.image("n1").Spec.Images["nginx"].Tags[0].Tag)
}
