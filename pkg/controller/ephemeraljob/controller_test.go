package ephemeraljob

import (
	"errors"
	"fmt"
	"math"
	"slices"
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

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
)

type world struct {
	*controllertest.Fixture
	t *testing.T
	r *Reconciler
}

// newWorld has the EphemeralJob "job" with the container "debug", and Pods p0, p1, ... from old to new.
func newWorld(t *testing.T, pods int, edits ...func(*v1alpha1.EphemeralJob)) *world {
	t.Helper()
	w := &world{Fixture: controllertest.New(t, ""), t: t}
	w.addJob("job", "debug", edits...)
	for i := range pods {
		w.addPod(fmt.Sprintf("p%d", i), time.Duration(i)*time.Minute)
	}
	r, skeleton := build(w.Deps)
	w.Control(skeleton)
	w.r = r
	return w
}

func (w *world) addJob(name, container string, edits ...func(*v1alpha1.EphemeralJob)) {
	w.t.Helper()
	job := &v1alpha1.EphemeralJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	job.Spec.Template.EphemeralContainers = []corev1.EphemeralContainer{newContainer(container)}
	for _, edit := range edits {
		edit(job)
	}
	w.Add(job)
}

func newContainer(name string) corev1.EphemeralContainer {
	return corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: "debug:v1"}}
}

func (w *world) addPod(name string, younger time.Duration, edits ...func(*corev1.Pod)) {
	w.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, Labels: map[string]string{"app": "web"}, CreationTimestamp: metav1.NewTime(controllertest.Now.Add(younger - time.Hour)),
	}}
	for _, edit := range edits {
		edit(pod)
	}
	w.Add(pod)
}

func parallelism(n int32) func(*v1alpha1.EphemeralJob) {
	return func(job *v1alpha1.EphemeralJob) { job.Spec.Parallelism = &n }
}

func replicas(n int32) func(*v1alpha1.EphemeralJob) {
	return func(job *v1alpha1.EphemeralJob) { job.Spec.Replicas = &n }
}

func (w *world) later(by time.Duration) { w.Clock.SetTime(w.Clock.Now().Add(by)) }

func (w *world) settle() []string { return w.Converge("ns", "job") }

func (w *world) get(name string) *v1alpha1.EphemeralJob {
	w.t.Helper()
	job, err := w.Kruise.AppsV1alpha1().EphemeralJobs("ns").Get(w.t.Context(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	return job
}

func (w *world) edit(edit func(*v1alpha1.EphemeralJob)) {
	w.t.Helper()
	job := w.get("job")
	edit(job)
	w.Update(job)
	w.Writes()
}

// with returns the names of the Pods that have the container.
func (w *world) with(container string) (names []string) {
	for _, pod := range w.Pods() {
		for _, c := range pod.Spec.EphemeralContainers {
			if c.Name == container {
				names = append(names, pod.Name)
			}
		}
	}
	return names
}

// report sets the state of a container in a Pod, as the kubelet does.
func (w *world) report(pod, container string, state corev1.ContainerState) {
	w.t.Helper()
	for _, p := range w.Pods() {
		if p.Name != pod {
			continue
		}
		others := slices.DeleteFunc(p.Status.EphemeralContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == container })
		p.Status.EphemeralContainerStatuses = slices.Concat(others, []corev1.ContainerStatus{{Name: container, State: state}})
		w.Update(p)
	}
	w.Writes()
}

var isRunning = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}

func exited(code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(controllertest.Now)}}
}

func isWaiting(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

// summary returns the phase, the counts of matching, waiting, running, succeeded and failed Pods, and the conditions with their reasons.
func (w *world) summary() string {
	s := w.get("job").Status
	text := fmt.Sprintf("%s %d/%d/%d/%d/%d", s.Phase, s.Match, s.Waiting, s.Running, s.Succeeded, s.Failed)
	for _, c := range s.Conditions {
		if c.Type != v1alpha1.EJobInitialized {
			text += fmt.Sprintf(" %s=%s", c.Type, c.Reason)
		}
	}
	return text
}

// Case ephemeraljob 1.
func TestContainersAreAddedAndCounted(t *testing.T) {
	w := newWorld(t, 3, parallelism(3))
	w.settle()
	assert.Equal(t, []string{"p0", "p1", "p2"}, w.with("debug"))
	for _, pod := range w.Pods() {
		assert.Equal(t, []corev1.EnvVar{{Name: pub.EphemeralJobIDEnv, Value: string(w.get("job").UID)}}, pod.Spec.EphemeralContainers[0].Env)
		w.report(pod.Name, "debug", exited(0))
	}
	assert.Equal(t, "Waiting 3/3/0/0/0", w.summary())
	w.settle()
	assert.Equal(t, "Succeeded 3/0/0/3/0 JobSucceeded=JobSucceeded", w.summary())
	assert.NotNil(t, w.get("job").Status.CompletionTime)
	assert.Empty(t, w.settle(), "a finished job is not written again")
}

// Cases ephemeraljob 2, 21.
func TestPodsInProgressStayWithinParallelism(t *testing.T) {
	w := newWorld(t, 5, replicas(4))
	for i := range 4 {
		w.settle()
		assert.Len(t, w.with("debug"), i+1, "the container of the last Pod has no status yet")
		name := fmt.Sprintf("p%d", i)
		w.report(name, "debug", isRunning)
		w.settle()
		assert.Equal(t, v1alpha1.EphemeralJobRunning, w.get("job").Status.Phase)
		assert.Len(t, w.with("debug"), i+1, "it runs")
		w.report(name, "debug", exited(0))
	}
	w.settle()
	assert.Equal(t, []string{"p0", "p1", "p2", "p3"}, w.with("debug"))
	assert.Equal(t, "Succeeded 4/0/0/4/0 JobSucceeded=JobSucceeded", w.summary())
}

// Case ephemeraljob 3.
func TestOldestPodsComeFirst(t *testing.T) {
	w := newWorld(t, 0, replicas(1))
	w.addPod("a", 0)
	w.addPod("c", -time.Minute)
	w.addPod("b", -time.Minute)
	w.settle()
	assert.Equal(t, []string{"b"}, w.with("debug"))
	w.report("b", "debug", exited(0))
	w.settle()
	assert.Equal(t, "Succeeded 1/0/0/1/0 JobSucceeded=JobSucceeded", w.summary())
}

// kube-apiserver would refuse the container in the first three Pods, and the job adds it to one Pod at a time.
func TestPodsThatCannotGetTheContainerAreNoTargets(t *testing.T) {
	w := newWorld(t, 0)
	w.addPod("a", -time.Minute, func(pod *corev1.Pod) { pod.Spec.Containers = []corev1.Container{{Name: "debug"}} })
	w.addPod("b", -time.Minute, func(pod *corev1.Pod) { pod.Spec.InitContainers = []corev1.Container{{Name: "debug"}} })
	w.addPod("c", -time.Minute, func(pod *corev1.Pod) { pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash"} })
	w.addPod("d", 0)
	w.settle()
	assert.Equal(t, []string{"d"}, w.with("debug"))
	assert.EqualValues(t, 1, w.get("job").Status.Match)
}

// Cases ephemeraljob 4, 5, 16, 22.
func TestFailedContainersFailTheJob(t *testing.T) {
	for name, test := range map[string]struct {
		states []corev1.ContainerState
		want   string
	}{
		"all":                      {[]corev1.ContainerState{exited(1), exited(2)}, "Failed 2/0/0/0/2 JobFailed=JobFailed"},
		"one of two":               {[]corev1.ContainerState{exited(0), exited(1)}, "Failed 2/0/0/1/1 JobFailed=JobFailed"},
		"one, while another runs":  {[]corev1.ContainerState{isRunning, exited(1)}, "Running 2/0/1/0/1"},
		"a command without a file": {[]corev1.ContainerState{isWaiting("RunContainerError"), exited(128)}, "Failed 2/0/0/0/2 JobFailed=JobFailed"},
		"none so far":              {[]corev1.ContainerState{isWaiting("ContainerCreating"), isWaiting("ImagePullBackOff")}, "Waiting 2/2/0/0/0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, len(test.states), parallelism(10))
			w.settle()
			for i, state := range test.states {
				w.report(fmt.Sprintf("p%d", i), "debug", state)
			}
			w.settle()
			assert.Equal(t, test.want, w.summary())
		})
	}
}

// Case ephemeraljob 6.
func TestJobWaitsForPods(t *testing.T) {
	w := newWorld(t, 0)
	w.settle()
	assert.Equal(t, "Waiting 0/0/0/0/0 MatchedEmpty=MatchEmpty", w.summary())
	w.addPod("late", 0)
	w.settle()
	assert.Equal(t, []string{"late"}, w.with("debug"))
	assert.Equal(t, "Waiting 1/1/0/0/0", w.summary(), "the condition is gone")
}

// Case ephemeraljob 7.
func TestPausedJobAddsNothing(t *testing.T) {
	w := newWorld(t, 2, func(job *v1alpha1.EphemeralJob) { job.Spec.Paused = true })
	w.settle()
	assert.Empty(t, w.with("debug"))
	assert.Equal(t, "Paused 2/0/0/0/0", w.summary())
	w.edit(func(job *v1alpha1.EphemeralJob) { job.Spec.Paused = false })
	w.settle()
	assert.Equal(t, []string{"p0"}, w.with("debug"))

	w.edit(func(job *v1alpha1.EphemeralJob) { job.Spec.Paused, job.Spec.Replicas = true, ptr.To[int32](1) })
	w.report("p0", "debug", exited(0))
	w.settle()
	assert.Equal(t, "Succeeded 1/0/0/1/0 JobSucceeded=JobSucceeded", w.summary(), "a job that is done is not paused")
}

// Cases ephemeraljob 8, 9, 23.
func TestJobsShareAPodUnlessTheirContainersHaveTheSameName(t *testing.T) {
	w := newWorld(t, 1)
	w.addJob("other", "trace")
	w.addJob("same", "debug")
	w.Settle(func() {
		for _, name := range []string{"job", "other", "same"} {
			_, err := w.Pass("ns", name)
			require.NoError(t, err)
			w.Observe()
		}
	})
	assert.Equal(t, []string{"p0"}, w.with("debug"))
	assert.Equal(t, []string{"p0"}, w.with("trace"))
	for _, c := range w.Pods()[0].Spec.EphemeralContainers {
		owner := map[string]string{"debug": "job", "trace": "other"}[c.Name]
		assert.Equal(t, []corev1.EnvVar{{Name: pub.EphemeralJobIDEnv, Value: string(w.get(owner).UID)}}, c.Env)
	}
	assert.Equal(t, int32(0), w.get("same").Status.Match)
	assert.Equal(t, v1alpha1.EphemeralJobWaiting, w.get("same").Status.Phase)
	conditions := w.get("same").Status.Conditions
	assert.Contains(t, conditions[len(conditions)-1].Message, "job match no pods; 1 matching Pods are static, or have a container of the same name")
}

// Case ephemeraljob 10.
func TestDeadlineFailsTheJob(t *testing.T) {
	w := newWorld(t, 1, func(job *v1alpha1.EphemeralJob) { job.Spec.ActiveDeadlineSeconds = ptr.To[int64](5) })
	w.settle()
	w.report("p0", "debug", isRunning)
	w.settle()
	w.later(3 * time.Second)
	assert.Equal(t, 2*time.Second, w.Step("ns", "job"), "the job comes back at its deadline, without a change of a Pod")
	assert.Empty(t, w.Writes(), "conditions keep their times")
	w.later(2 * time.Second)
	w.settle()
	assert.Equal(t, "Failed 1/0/1/0/0 JobFailed=DeadlineExceeded", w.summary())
}

// A deadline that means no deadline fails no job.
func TestLongestDeadlineFailsNoJob(t *testing.T) {
	w := newWorld(t, 1, func(job *v1alpha1.EphemeralJob) { job.Spec.ActiveDeadlineSeconds = ptr.To[int64](math.MaxInt64) })
	w.settle()
	w.report("p0", "debug", isRunning)
	w.settle()
	w.later(time.Hour)
	w.settle()
	assert.Equal(t, "Running 1/0/1/0/0", w.summary())
}

// A job that wants more Pods than exist waits for them. At its deadline, the Pods that exist decide.
func TestMissingPodsCountUntilTheDeadline(t *testing.T) {
	w := newWorld(t, 1, replicas(2), func(job *v1alpha1.EphemeralJob) { job.Spec.ActiveDeadlineSeconds = ptr.To[int64](5) })
	w.settle()
	w.report("p0", "debug", exited(0))
	w.settle()
	assert.Equal(t, "Unknown 1/0/0/1/0", w.summary())
	w.later(5 * time.Second)
	w.settle()
	assert.Equal(t, "Succeeded 1/0/0/1/0 JobSucceeded=JobSucceeded", w.summary())
}

// Cases ephemeraljob 11, 24.
func TestFinishedJobIsDeletedAfterItsTTL(t *testing.T) {
	for name, test := range map[string]struct {
		seconds *int32
		after   time.Duration
	}{"of the job": {ptr.To[int32](5), 5 * time.Second}, "by default": {nil, 30 * time.Minute}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, func(job *v1alpha1.EphemeralJob) { job.Spec.TTLSecondsAfterFinished = test.seconds })
			w.settle()
			w.report("p0", "debug", exited(0))
			w.settle()
			w.Observe()
			assert.Equal(t, test.after, w.Step("ns", "job"))
			w.later(test.after)
			assert.Equal(t, []string{"delete ephemeraljobs job"}, w.settle())
		})
	}
}

// Case ephemeraljob 12.
func TestDeletedJobLeavesItsContainers(t *testing.T) {
	w := newWorld(t, 1, func(job *v1alpha1.EphemeralJob) {
		job.Finalizers = []string{pub.EphemeralContainersCleanupFinalizer, "example.com/other"}
	})
	w.settle()
	w.edit(func(job *v1alpha1.EphemeralJob) { job.DeletionTimestamp = new(metav1.NewTime(controllertest.Now)) })
	w.settle()
	assert.Equal(t, []string{"example.com/other"}, w.get("job").Finalizers)
	assert.Equal(t, []string{"p0"}, w.with("debug"))
}

// Case ephemeraljob 15.
func TestEmptyTemplateIsAnError(t *testing.T) {
	w := newWorld(t, 2, func(job *v1alpha1.EphemeralJob) { job.Spec.Template.EphemeralContainers = nil })
	w.settle()
	assert.Equal(t, "Error 2/0/0/0/0 JobError=Error", w.summary())
	assert.Nil(t, w.get("job").Status.CompletionTime)
}

// A controller that restarts, or whose answer was lost, adds nothing twice.
// Case ephemeraljob 17.
func TestLostAnswerAddsNothingTwice(t *testing.T) {
	w := newWorld(t, 2)
	lost := false
	w.Kube.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if lost {
			return false, nil, nil
		}
		lost = true
		_, _, err := clienttesting.ObjectReaction(w.Kube.Tracker())(action)
		require.NoError(t, err)
		return true, nil, errors.New("connection reset by peer")
	})
	w.Observe()
	_, err := w.Pass("ns", "job")
	require.ErrorContains(t, err, "Pod p0: connection reset by peer")
	_, err = w.Pass("ns", "job") // The cache does not show the write yet.
	require.NoError(t, err)
	w.settle()
	assert.Equal(t, []string{"p0"}, w.with("debug"))
}

// Case ephemeraljob 19.
func TestPodsThatEndDoNotCount(t *testing.T) {
	w := newWorld(t, 2, parallelism(2))
	w.settle()
	w.report("p0", "debug", exited(0))
	w.report("p1", "debug", isRunning)
	w.settle()
	assert.Equal(t, "Running 2/0/1/1/0", w.summary())
	pod := w.Pods()[1]
	pod.Status.Phase = corev1.PodFailed
	w.Update(pod)
	w.settle()
	assert.Equal(t, "Succeeded 1/0/0/1/0 JobSucceeded=JobSucceeded", w.summary())
}

// Case ephemeraljob 20.
func TestPodIsDoneWhenAllContainersAre(t *testing.T) {
	w := newWorld(t, 1, func(job *v1alpha1.EphemeralJob) {
		job.Spec.Template.EphemeralContainers = append(job.Spec.Template.EphemeralContainers, newContainer("trace"))
	})
	w.settle()
	w.report("p0", "debug", exited(0))
	w.settle()
	assert.Equal(t, "Waiting 1/1/0/0/0", w.summary())
	w.report("p0", "trace", isRunning)
	w.settle()
	assert.Equal(t, "Running 1/0/1/0/0", w.summary())
	w.report("p0", "trace", exited(0))
	w.settle()
	assert.Equal(t, "Succeeded 1/0/0/1/0 JobSucceeded=JobSucceeded", w.summary())
}

// The index of selectors would otherwise grow with every job that waits for its TTL.
func TestPodsDoNotConcernFinishedJobs(t *testing.T) {
	job := &v1alpha1.EphemeralJob{Spec: v1alpha1.EphemeralJobSpec{Selector: &metav1.LabelSelector{}}}
	assert.NotNil(t, unfinished(job))
	job.Status.CompletionTime = new(metav1.NewTime(controllertest.Now))
	assert.Nil(t, unfinished(job))
}

// A Pod that replaced another one of the same name is never patched in its place.
func TestPatchNamesTheUIDOfThePod(t *testing.T) {
	patch, err := patchFor(&v1alpha1.EphemeralJob{}, "p")
	require.NoError(t, err)
	assert.JSONEq(t, `{"metadata": {"uid": "p"}, "spec": {"ephemeralContainers": null}}`, string(patch))
}

func TestRejectedContainersAreReportedOnce(t *testing.T) {
	w := newWorld(t, 5, parallelism(5))
	w.Kube.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "p0", errors.New("privileged containers are not allowed"))
	})
	w.Observe()
	_, err := w.Pass("ns", "job")
	require.Error(t, err)
	assert.Equal(t, []string{"patch pods/ephemeralcontainers p0", "update ephemeraljobs/status job"}, w.Writes(), "one Pod is tried")
	events := w.Events()
	require.Len(t, events, 1)
	assert.Contains(t, events[0], "Warning CreateFailed add ephemeral containers to Pod p0")
	assert.Contains(t, events[0], "privileged containers are not allowed")
}

func TestWhichPodChangesMatter(t *testing.T) {
	before := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a", Labels: map[string]string{"app": "web"}}}
	for name, test := range map[string]struct {
		edit func(*corev1.Pod)
		want bool
	}{
		"an annotation":         {func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }, false},
		"readiness":             {func(p *corev1.Pod) { p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady}} }, false},
		"a label":               {func(p *corev1.Pod) { p.Labels = map[string]string{"app": "db"} }, true},
		"a new container":       {func(p *corev1.Pod) { p.Spec.EphemeralContainers = []corev1.EphemeralContainer{newContainer("x")} }, true},
		"a state":               {func(p *corev1.Pod) { p.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{Name: "x"}} }, true},
		"the end":               {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, true},
		"another Pod's arrival": {func(p *corev1.Pod) { p.UID = "b" }, true},
	} {
		after := before.DeepCopy()
		test.edit(after)
		assert.Equal(t, test.want, matters(before, after), name)
	}
}

// TestLargeJobsPauseBetweenPasses checks that one pass covers the changes of many Pods, if many may run the containers at once.
func TestLargeJobsPauseBetweenPasses(t *testing.T) {
	w := newWorld(t, 5, parallelism(5))
	w.r.pace.Large = 5
	w.settle()
	w.later(time.Minute)
	w.report("p0", "debug", isRunning)
	w.Step("ns", "job")
	assert.Equal(t, int32(1), w.get("job").Status.Running, "the first event after a while is worked on at once")
	w.report("p1", "debug", isRunning)
	wait := w.Step("ns", "job")
	assert.Equal(t, int32(1), w.get("job").Status.Running, "the next one waits for others to come")
	w.report("p2", "debug", isRunning)
	w.later(wait)
	w.Step("ns", "job")
	assert.Equal(t, int32(3), w.get("job").Status.Running)
}

// TestPassesAreShort checks that a job that is paused or deleted while its containers are added adds no more of them: they cannot be
// removed again.
func TestPassesAreShort(t *testing.T) {
	w := newWorld(t, 20, parallelism(20))
	written := 0
	w.Kube.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		if written++; written == 3 {
			w.later(2 * time.Second)
		}
		return false, nil, nil
	})
	assert.NotZero(t, w.Step("ns", "job"), "the next pass comes at once")
	assert.Len(t, w.with("debug"), 3)
	w.edit(func(job *v1alpha1.EphemeralJob) { job.Spec.Paused = true })
	w.settle()
	assert.Len(t, w.with("debug"), 3)
	w.edit(func(job *v1alpha1.EphemeralJob) { job.Spec.Paused = false })
	w.settle()
	assert.Len(t, w.with("debug"), 20)
}

// kube-apiserver refuses the container of one Pod, for example because it names another container that the Pod does not have.
func TestRefusedPodDoesNotHoldUpTheOthers(t *testing.T) {
	w := newWorld(t, 3)
	w.Kube.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.(clienttesting.PatchAction).GetName() != "p0" {
			return false, nil, nil
		}
		return true, nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "p0", nil)
	})
	for range 4 {
		w.Observe()
		_, _ = w.Pass("ns", "job")
	}
	assert.Contains(t, w.with("debug"), "p1")
}
