package broadcastjob

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/nodefit"
)

// Case broadcastjob 1: each node runs one Pod, and the job is complete when all of them succeeded.
func TestJobRunsOnEachNode(t *testing.T) {
	w := newWorld(t, append(nodes(3), newJob())...)
	w.step()
	assert.Equal(t, []string{"n1", "n2", "n3"}, w.on())
	assert.EqualValues(t, 3, w.job().Status.Desired, "from the first pass on")
	w.settle()
	status := w.job().Status
	assert.EqualValues(t, 3, status.Active)
	assert.Equal(t, v1beta1.BroadcastJobRunning, status.Phase)
	pod := w.podOn("n2")
	assert.Equal(t, map[string]string{"broadcastjob-name": "job", "broadcastjob-controller-uid": "job"}, pod.Labels)
	ref := metav1.GetControllerOf(pod)
	assert.Equal(t, "apps.kruise.io/v1beta1/BroadcastJob/job", ref.APIVersion+"/"+ref.Kind+"/"+ref.Name)
	assert.Equal(t, "job-", pod.GenerateName)
	assert.Equal(t, corev1.RestartPolicyNever, pod.Spec.RestartPolicy)
	w.pass(time.Minute)
	w.end(corev1.PodSucceeded)
	w.settle()
	status = w.job().Status
	assert.Equal(t, v1beta1.BroadcastJobCompleted, status.Phase)
	assert.EqualValues(t, []int32{3, 0, 3, 0}, []int32{status.Desired, status.Active, status.Succeeded, status.Failed})
	require.Len(t, status.Conditions, 1)
	assert.Equal(t, v1beta1.JobComplete, status.Conditions[0].Type)
	assert.Equal(t, "Complete", status.Conditions[0].Reason)
	assert.Equal(t, "Job completed, 3 pods succeeded, 0 pods failed", status.Conditions[0].Message)
	assert.Equal(t, time.Minute, status.CompletionTime.Sub(status.StartTime.Time))
	assert.Len(t, w.Pods(), 3, "Pods that ended stay")
	assert.Equal(t, []string{"Normal JobComplete Job ns/job is completed, 3 pods succeeded, 0 pods failed"}, w.eventsLike("Normal JobComplete"))
}

// Cases broadcastjob 4, 5: parallelism limits how many Pods run. A percentage is rounded up. 0 starts none.
func TestParallelismLimitsRunningPods(t *testing.T) {
	for value, most := range map[string]int{"1": 1, "50%": 2, "34%": 2, "2": 2, "100%": 3} {
		t.Run(value, func(t *testing.T) {
			w := newWorld(t, append(nodes(3), newJob(parallelism(value)))...)
			w.settle()
			assert.Len(t, w.Pods(), most)
			assert.EqualValues(t, 3, w.job().Status.Desired)
			w.finish()
			assert.Equal(t, most, w.most)
			assert.EqualValues(t, 3, w.job().Status.Succeeded)
		})
	}
	w := newWorld(t, append(nodes(3), newJob(parallelism("0")))...)
	w.settle()
	assert.Empty(t, w.Pods())
}

func TestLoweredParallelismDeletesNothing(t *testing.T) {
	w := newWorld(t, append(nodes(3), newJob(parallelism("2")))...)
	w.settle()
	w.edit(parallelism("1"))
	w.settle()
	assert.Len(t, w.Pods(), 2)
	assert.NotEmpty(t, w.eventsLike("Warning TooManyActivePods"))
}

// Case broadcastjob 6: with FailFast, a failed Pod ends the job. Active Pods are deleted, and there is one event.
func TestFailFastEndsTheJob(t *testing.T) {
	w := newWorld(t, append(nodes(3), newJob())...)
	w.settle()
	w.end(corev1.PodSucceeded, "n1")
	w.end(corev1.PodFailed, "n2")
	w.settle()
	assert.Equal(t, []string{"n1", "n2"}, w.on(), "the active Pod is deleted, and the others stay")
	status := w.job().Status
	assert.Equal(t, v1beta1.BroadcastJobFailed, status.Phase)
	assert.EqualValues(t, []int32{3, 0, 1, 2}, []int32{status.Desired, status.Active, status.Succeeded, status.Failed})
	require.Len(t, status.Conditions, 1)
	assert.Equal(t, v1beta1.JobFailed, status.Conditions[0].Type)
	const message = "failure policy is FailurePolicyTypeFailFast and failed pod is found"
	assert.Equal(t, message, status.Conditions[0].Message)
	assert.Equal(t, []string{"Warning failed pod is found " + message + ": 1 pods succeeded, 2 pods failed"}, w.eventsLike("Warning"))
	w.Add(newNode("n4"))
	w.settle()
	assert.Len(t, w.Pods(), 2, "it stays ended")
}

// Case broadcastjob 7: with Continue, the other nodes run, and the job completes.
func TestContinueRunsTheOtherNodes(t *testing.T) {
	w := newWorld(t, append(nodes(3), newJob(policy(v1beta1.FailurePolicyTypeContinue), parallelism("1")))...)
	w.settle()
	w.end(corev1.PodFailed)
	w.finish()
	status := w.job().Status
	assert.Equal(t, v1beta1.BroadcastJobCompleted, status.Phase)
	assert.EqualValues(t, []int32{3, 2, 1}, []int32{status.Desired, status.Succeeded, status.Failed})
}

// Case broadcastjob 8: with Pause, a failed Pod pauses the job, and the job goes on when the user resumes it.
func TestPauseWaitsForTheUser(t *testing.T) {
	w := newWorld(t, append(nodes(4), newJob(policy(v1beta1.FailurePolicyTypePause), parallelism("1")))...)
	w.settle()
	w.end(corev1.PodFailed)
	w.settle()
	assert.True(t, w.job().Spec.Paused)
	assert.Equal(t, v1beta1.BroadcastJobPaused, w.job().Status.Phase)
	assert.Equal(t, []string{"Warning Paused job is paused, due to failed pod"}, w.eventsLike("Warning", "Normal Continue"))
	assert.Len(t, w.Pods(), 1)

	w.edit(paused(false))
	w.settle()
	assert.Equal(t, v1beta1.BroadcastJobRunning, w.job().Status.Phase)
	assert.Equal(t, []string{"Normal Continue continue to process job"}, w.eventsLike("Warning", "Normal Continue"))
	assert.Len(t, w.on(), 2)

	w.end(corev1.PodFailed)
	w.settle()
	assert.True(t, w.job().Spec.Paused, "another failure pauses it again")
	w.restart()
	w.edit(paused(false))
	w.finish()
	status := w.job().Status
	assert.Equal(t, v1beta1.BroadcastJobCompleted, status.Phase)
	assert.EqualValues(t, []int32{4, 2, 2}, []int32{status.Desired, status.Succeeded, status.Failed})
}

// The user repairs the node and deletes the failed Pod. The next failure is a new one.
func TestPauseForAFailureAfterOneThatIsGone(t *testing.T) {
	w := newWorld(t, append(nodes(3), newJob(policy(v1beta1.FailurePolicyTypePause), parallelism("1")))...)
	w.settle()
	w.end(corev1.PodFailed)
	w.settle()
	require.True(t, w.job().Spec.Paused)
	require.NoError(t, w.Kube.CoreV1().Pods("ns").Delete(t.Context(), w.Pods()[0].Name, metav1.DeleteOptions{}))
	w.settle()
	w.edit(paused(false))
	w.settle()
	w.end(corev1.PodFailed)
	w.settle()
	assert.True(t, w.job().Spec.Paused)
}

// Case broadcastjob 9: restarts of all containers count against restartLimit.
func TestRestartsCountAsAFailure(t *testing.T) {
	limited := func(s *v1beta1.BroadcastJobSpec) {
		s.Template.Spec.RestartPolicy, s.FailurePolicy.RestartLimit = corev1.RestartPolicyOnFailure, 3
	}
	restarted := func(w *world, times int32) {
		w.changePod(w.podOn("n1"), func(pod *corev1.Pod) {
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", RestartCount: 1}}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: times - 1}}
		})
	}
	w := newWorld(t, append(nodes(2), newJob(limited))...)
	w.settle()
	restarted(w, 3)
	w.settle()
	assert.Equal(t, v1beta1.BroadcastJobRunning, w.job().Status.Phase)
	restarted(w, 4)
	w.settle()
	assert.Equal(t, v1beta1.BroadcastJobFailed, w.job().Status.Phase)
	assert.Empty(t, w.Pods(), "no Pod goes on")

	w = newWorld(t, append(nodes(2), newJob(limited, policy(v1beta1.FailurePolicyTypeContinue)))...)
	w.settle()
	restarted(w, 4)
	w.end(corev1.PodSucceeded, "n2")
	w.settle()
	status := w.job().Status
	assert.Equal(t, v1beta1.BroadcastJobCompleted, status.Phase)
	assert.EqualValues(t, []int32{2, 1, 1}, []int32{status.Desired, status.Succeeded, status.Failed})
}

// Case broadcastjob 9a: an end that was decided is carried out, although the Pods that it follows from go first: if a deletion fails,
// and if the controller is killed.
func TestDecidedEndIsCarriedOut(t *testing.T) {
	limited := func(s *v1beta1.BroadcastJobSpec) {
		s.Template.Spec.RestartPolicy, s.FailurePolicy.RestartLimit = corev1.RestartPolicyOnFailure, 3
	}
	restart := func(w *world) {
		w.changePod(w.podOn("n1"), func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: 4}}
		})
	}
	for name, test := range map[string]struct {
		edits  []edit
		happen func(*world)
		phase  v1beta1.BroadcastJobPhase
		event  string
	}{
		"restarts": {
			[]edit{limited}, restart, v1beta1.BroadcastJobFailed,
			"Warning failed pod is found failure policy is FailurePolicyTypeFailFast and failed pod is found: 1 pods succeeded, 2 pods failed",
		},
		"a deadline": {
			[]edit{deadline(5)}, func(w *world) { w.pass(5 * time.Second) }, v1beta1.BroadcastJobFailed,
			"Warning DeadlineExceeded Job ns/job was active longer than specified deadline: 1 pods succeeded, 2 pods failed",
		},
		"all nodes are done": {
			[]edit{limited, policy(v1beta1.FailurePolicyTypeContinue)},
			func(w *world) {
				restart(w)
				w.changePod(w.podOn("n2"), func(pod *corev1.Pod) {
					pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: 5}}
				})
			}, v1beta1.BroadcastJobCompleted,
			"Normal JobComplete Job ns/job is completed, 1 pods succeeded, 2 pods failed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(nodes(3), newJob(test.edits...))...)
			w.settle()
			w.end(corev1.PodSucceeded, "n3")
			w.settle()
			w.Events()
			refuse, stuck := true, w.podOn("n2").Name
			w.Kube.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
				deletion, ok := action.(clienttesting.DeleteAction)
				return ok && refuse && deletion.GetName() == stuck, nil, apierrors.NewInternalError(assert.AnError)
			})
			test.happen(w)
			for range 3 {
				w.Observe()
				_, _ = w.Pass("ns", "job") // The deletion on n2 fails.
				w.restart()
				status := w.job().Status
				assert.Equal(t, v1beta1.BroadcastJobRunning, status.Phase, "Pods are left")
				assert.Nil(t, status.CompletionTime)
				for _, condition := range status.Conditions {
					assert.NotContains(t, []v1beta1.JobConditionType{v1beta1.JobComplete, v1beta1.JobFailed}, condition.Type)
				}
			}
			assert.Equal(t, []string{"n2", "n3"}, w.on())
			w.edit(paused(true))
			refuse = false
			w.settle()
			assert.Equal(t, []string{"n3"}, w.on(), "no Pod is created")
			status := w.job().Status
			assert.Equal(t, test.phase, status.Phase)
			assert.EqualValues(t, []int32{3, 0, 1, 2}, []int32{status.Desired, status.Active, status.Succeeded, status.Failed})
			require.Len(t, status.Conditions, 1)
			assert.Contains(t, w.Events(), test.event)
		})
	}
}

// A Pod can succeed between the decision and its deletion. An active Pod on a node that is not the job's any more counts for nothing.
func TestCountsOfADecidedEnd(t *testing.T) {
	w := newWorld(t, append(nodes(2), newJob(deadline(5)))...)
	w.settle()
	w.pass(5 * time.Second)
	w.step()
	w.end(corev1.PodSucceeded, "n1")
	w.settle()
	status := w.job().Status
	assert.EqualValues(t, []int32{0, 1, 1}, []int32{status.Active, status.Succeeded, status.Failed})

	w = newWorld(t, append(nodes(2), newJob())...)
	w.settle()
	w.end(corev1.PodSucceeded, "n1")
	w.changePod(w.podOn("n2"), func(pod *corev1.Pod) { pod.Spec.NodeName = "n2" })
	require.NoError(t, w.Kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("nodes"), "", "n2"))
	w.settle()
	status = w.job().Status
	assert.Equal(t, v1beta1.BroadcastJobCompleted, status.Phase)
	assert.EqualValues(t, []int32{0, 1, 0}, []int32{status.Active, status.Succeeded, status.Failed})
}

// Case broadcastjob 10: the job goes after its TTL, even if the controller was restarted meanwhile.
func TestJobIsDeletedAfterItsTTL(t *testing.T) {
	w := newWorld(t, append(nodes(1), newJob(ttl(10)))...)
	w.finish()
	assert.Equal(t, 10*time.Second, w.recheck)
	w.restart()
	w.pass(9 * time.Second)
	w.step()
	assert.Equal(t, time.Second, w.recheck)
	w.pass(time.Second)
	w.step()
	_, err := w.Kruise.AppsV1beta1().BroadcastJobs("ns").Get(t.Context(), "job", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))
}

// A creation whose answer was lost can arrive after the job ended. If a budget refuses the deletion of that Pod, it is tried again.
func TestRefusedDeletionAfterTheEndIsRetried(t *testing.T) {
	w := newWorld(t, append(nodes(1), newJob(ttl(0)))...)
	w.settle()
	late := w.Pods()[0].DeepCopy()
	job := w.job()
	job.Status.Phase, job.Status.CompletionTime = v1beta1.BroadcastJobCompleted, new(metav1.NewTime(w.Clock.Now()))
	w.Update(job)
	refuse := true
	w.Kube.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		refusal := apierrors.NewTooManyRequests("no disruption is allowed", 0)
		refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: disruption.Cause}}
		return refuse, nil, refusal
	})
	w.step()
	assert.Equal(t, time.Second, w.recheck)
	assert.Equal(t, late.Name, w.Pods()[0].Name)
	assert.Equal(t, job.Name, w.job().Name, "its TTL counts only when no Pod runs")
	refuse = false
	w.step()
	assert.Empty(t, w.Pods())
}

// Case broadcastjob 11: the deadline counts from the start of the job, even if the controller was restarted meanwhile.
func TestDeadlineEndsTheJob(t *testing.T) {
	w := newWorld(t, append(nodes(2), newJob(deadline(5)))...)
	w.settle()
	assert.Equal(t, 5*time.Second, w.recheck)
	w.pass(2 * time.Second)
	w.restart()
	w.settle()
	assert.Equal(t, 3*time.Second, w.recheck)
	w.pass(3 * time.Second)
	w.settle()
	status := w.job().Status
	assert.Equal(t, v1beta1.BroadcastJobFailed, status.Phase)
	assert.Equal(t, "Job ns/job was active longer than specified deadline", status.Conditions[0].Message)
	assert.Empty(t, w.Pods())
	assert.Equal(t, []string{"Warning DeadlineExceeded Job ns/job was active longer than specified deadline: 0 pods succeeded, 2 pods failed"},
		w.eventsLike("Warning"))
}

// A deadline that means no deadline ends no job.
func TestLongestDeadlineEndsNoJob(t *testing.T) {
	w := newWorld(t, append(nodes(2), newJob(deadline(math.MaxInt64)))...)
	w.settle()
	w.pass(time.Hour)
	w.settle()
	assert.Equal(t, v1beta1.BroadcastJobRunning, w.job().Status.Phase)
	assert.Positive(t, w.recheck)
}

// Case broadcastjob 12: a job that never completes also serves nodes that join later.
func TestStandingJobServesNewNodes(t *testing.T) {
	w := newWorld(t, append(nodes(1), newJob(never))...)
	w.finish()
	assert.Equal(t, v1beta1.BroadcastJobRunning, w.job().Status.Phase)
	w.Add(newNode("n2"))
	w.settle()
	assert.Equal(t, []string{"n1", "n2"}, w.on())
	w.end(corev1.PodFailed, "n2")
	w.settle()
	assert.Equal(t, v1beta1.BroadcastJobFailed, w.job().Status.Phase, "FailFast ends it all the same")
}

// Cases broadcastjob 13, 14: a cordoned node and a tainted one get their Pods when they may.
func TestNodesGetPodsWhenTheyFit(t *testing.T) {
	w := newWorld(t, append(nodes(3), newJob(never))...)
	w.changeNode("n1", func(node *corev1.Node) { node.Spec.Unschedulable = true })
	w.changeNode("n2", func(node *corev1.Node) {
		node.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	})
	w.settle()
	assert.Equal(t, []string{"n3"}, w.on())
	assert.EqualValues(t, 1, w.job().Status.Desired)
	w.changeNode("n1", func(node *corev1.Node) { node.Spec.Unschedulable = false })
	w.settle()
	assert.Equal(t, []string{"n1", "n3"}, w.on())
	w.changeNode("n2", func(node *corev1.Node) { node.Spec.Taints = nil })
	w.settle()
	assert.Equal(t, []string{"n1", "n2", "n3"}, w.on())
}

func TestNodeMustHaveWhatThePodRequests(t *testing.T) {
	w := newWorld(t, newNode("n1"), newJob(func(s *v1beta1.BroadcastJobSpec) {
		s.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
	}))
	w.settle()
	assert.Empty(t, w.Pods())
	assert.Equal(t, v1beta1.BroadcastJobRunning, w.job().Status.Phase, "a job without nodes waits")
}

// kube-apiserver requests for a Pod what its limits say. A template has no such requests.
func TestNodeMustHaveTheLimitsWithoutRequests(t *testing.T) {
	w := newWorld(t, newNode("n1"), newJob(func(s *v1beta1.BroadcastJobSpec) {
		s.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	}))
	w.settle()
	assert.Empty(t, w.Pods())
}

// A LimitRange or an injected sidecar can give Pods requests that the template does not have. The Pod then waits for the scheduler. A
// replacement would be the same.
func TestPodThatRequestsMoreThanItsTemplateIsNotReplaced(t *testing.T) {
	w := newWorld(t, newNode("n1"), newJob())
	w.Kube.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		pod := action.(clienttesting.CreateAction).GetObject().(*corev1.Pod)
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
		return false, nil, nil
	})
	w.settle()
	require.Len(t, w.Pods(), 1)
	assert.EqualValues(t, 1, w.job().Status.Desired)
	assert.Empty(t, w.eventsLike("SuccessfulDelete"))
}

// Case broadcastjob 15: a Pod that does not tolerate a new taint is deleted, and its node is no longer desired.
func TestPodLeavesATaintedNode(t *testing.T) {
	w := newWorld(t, append(nodes(3), newJob())...)
	w.settle()
	w.end(corev1.PodSucceeded, "n3")
	for _, name := range []string{"n1", "n3"} {
		w.changeNode(name, func(node *corev1.Node) {
			node.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}
		})
	}
	w.settle()
	assert.Equal(t, []string{"n2", "n3"}, w.on(), "a Pod that ended stays")
	status := w.job().Status
	assert.EqualValues(t, []int32{2, 1, 1}, []int32{status.Desired, status.Active, status.Succeeded})
	assert.NotEmpty(t, w.eventsLike("Normal SuccessfulDelete Delete pod: job-"))
	w.finish()
	assert.Equal(t, v1beta1.BroadcastJobCompleted, w.job().Status.Phase)
}

// Case broadcastjob 17: a job that is paused from the start creates nothing.
func TestPausedJobCreatesNothing(t *testing.T) {
	w := newWorld(t, append(nodes(2), newJob(paused(true), deadline(5)))...)
	w.settle()
	assert.Empty(t, w.Pods())
	assert.Equal(t, v1beta1.BroadcastJobPaused, w.job().Status.Phase)
	assert.EqualValues(t, 2, w.job().Status.Desired)
	w.edit(paused(false))
	w.settle()
	assert.Len(t, w.Pods(), 2)
	assert.Len(t, w.eventsLike("Normal Continue continue to process job"), 1)
}

func TestRunningPodsGoOnDuringAPause(t *testing.T) {
	w := newWorld(t, append(nodes(2), newJob(parallelism("1"), deadline(5)))...)
	w.settle()
	w.edit(paused(true))
	w.pass(time.Minute)
	w.settle()
	assert.Len(t, w.Pods(), 1)
	w.end(corev1.PodSucceeded)
	w.settle()
	assert.EqualValues(t, 1, w.job().Status.Succeeded)
	assert.Equal(t, v1beta1.BroadcastJobPaused, w.job().Status.Phase)
}

// Case broadcastjob 18: a creation that fails is tried again, and the others go on.
func TestRefusedCreationIsRetried(t *testing.T) {
	for _, limit := range []string{"1", "100%"} {
		t.Run(limit, func(t *testing.T) { testRefusedCreation(t, limit) })
	}
}

// testRefusedCreation has a node whose Pods are refused. It is the first one by its name, and must not hold up the others.
func testRefusedCreation(t *testing.T, limit string) {
	t.Helper()
	w := newWorld(t, append(nodes(3), newJob(parallelism(limit)))...)
	refuse := true
	w.Kube.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		pod, ok := action.(clienttesting.CreateAction).GetObject().(*corev1.Pod)
		if ok && refuse && nodefit.NodeOf(pod) == "n1" {
			return true, nil, apierrors.NewForbidden(engine.PodResource.GroupResource(), "", errors.New("exceeded quota"))
		}
		return false, nil, nil
	})
	for range 100 {
		w.Observe()
		_, _ = w.Pass("ns", "job")
		w.end(corev1.PodSucceeded)
		w.pass(time.Minute)
	}
	assert.Equal(t, []string{"n2", "n3"}, w.on())
	assert.NotEmpty(t, w.eventsLike("Warning FailedCreate Error creating: "))
	refuse = false
	w.settle()
	assert.Equal(t, []string{"n1", "n2", "n3"}, w.on())
}

// Case broadcastjob 19: a Pod whose phase another client sets counts as the kubelet's.
func TestPhaseSetFromOutsideCounts(t *testing.T) {
	tolerated := func(s *v1beta1.BroadcastJobSpec) {
		s.Template.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
	}
	w := newWorld(t, append(nodes(3), newJob(tolerated, parallelism("2")))...)
	w.changeNode("n2", func(node *corev1.Node) {
		node.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	})
	w.settle()
	assert.EqualValues(t, 3, w.job().Status.Desired)
	w.end(corev1.PodSucceeded)
	w.settle()
	w.end(corev1.PodSucceeded)
	w.settle()
	status := w.job().Status
	assert.Equal(t, status.Desired, status.Succeeded)
	assert.Equal(t, v1beta1.BroadcastJobCompleted, status.Phase)
}

// The work of a Pod that a user deletes is not done, so its node gets another one.
func TestDeletedPodIsNotDone(t *testing.T) {
	w := newWorld(t, append(nodes(2), newJob())...)
	w.settle()
	w.end(corev1.PodSucceeded, "n1")
	leaving := w.podOn("n2")
	w.changePod(leaving, func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: w.Clock.Now()} })
	w.settle()
	assert.Equal(t, v1beta1.BroadcastJobRunning, w.job().Status.Phase)
	assert.EqualValues(t, 2, w.job().Status.Desired)
	require.NoError(t, w.Kube.Tracker().Delete(engine.PodResource, "ns", leaving.Name))
	w.settle()
	assert.NotEqual(t, leaving.UID, w.podOn("n2").UID)
	w.finish()
	assert.EqualValues(t, 2, w.job().Status.Succeeded)
}

// A Pod on a lost node never stops terminating.
func TestTerminatingPodDoesNotHoldUpOtherNodes(t *testing.T) {
	w := newWorld(t, append(nodes(3), newJob(parallelism("1")))...)
	w.settle()
	require.Len(t, w.Pods(), 1)
	stuck := w.Pods()[0]
	w.changePod(stuck, func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: w.Clock.Now()} })
	for range 3 {
		w.settle()
		w.end(corev1.PodSucceeded)
	}
	w.settle()
	assert.EqualValues(t, 2, w.job().Status.Succeeded)
	assert.Equal(t, v1beta1.BroadcastJobRunning, w.job().Status.Phase, "the work of the lost node is not done")
}

// When the kubelet stops the containers of a deleted Pod, it reports a final phase before the Pod is gone. The garbage collector of Pods
// does so for a Pod whose node is gone.
func TestPodThatEndsBecauseItIsDeletedIsNotDone(t *testing.T) {
	deleted := func(pod *corev1.Pod) {
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = new(metav1.NewTime(controllertest.Now.Add(30*time.Second))), new(int64(30))
	}
	lost := func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions,
			corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByPodGC"})
	}
	for _, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded} {
		for name, end := range map[string]func(*corev1.Pod){"deleted": deleted, "lost": lost} {
			t.Run(string(phase)+" "+name, func(t *testing.T) {
				w := newWorld(t, append(nodes(2), newJob())...)
				w.settle()
				w.end(corev1.PodSucceeded, "n1")
				before := w.podOn("n2")
				w.changePod(before, func(pod *corev1.Pod) {
					pod.Status.Phase = phase
					end(pod)
				})
				w.settle()
				assert.Equal(t, v1beta1.BroadcastJobRunning, w.job().Status.Phase)
				assert.Zero(t, w.job().Status.Failed)
				require.NoError(t, w.Kube.Tracker().Delete(engine.PodResource, "ns", before.Name))
				w.settle()
				assert.NotEqual(t, before.UID, w.podOn("n2").UID)
				w.finish()
				assert.EqualValues(t, 2, w.job().Status.Succeeded)
			})
		}
	}
}

// Clients wait for the name of a Pod to disappear.
// Case broadcastjob 21.
func TestReplacementHasAnotherName(t *testing.T) {
	w := newWorld(t, append(nodes(1), newJob())...)
	names := map[string]bool{}
	for range 5 {
		w.settle()
		pod := w.podOn("n1")
		assert.False(t, names[pod.Name], pod.Name)
		names[pod.Name] = true
		require.NoError(t, w.Kube.Tracker().Delete(engine.PodResource, "ns", pod.Name))
		w.pass(time.Second)
	}
}

func TestDeletedNodeIsNotWaitedFor(t *testing.T) {
	w := newWorld(t, append(nodes(2), newJob())...)
	w.settle()
	w.end(corev1.PodSucceeded, "n1")
	require.NoError(t, w.Kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("nodes"), "", "n2"))
	w.settle()
	assert.Equal(t, v1beta1.BroadcastJobCompleted, w.job().Status.Phase)
}

// A node never has two Pods, even if the controller is killed between its writes and its caches are old. A controller that starts waits for
// caches as new as its start.
func TestNodeNeverHasTwoPods(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(t, append(nodes(4), newJob(never, policy(v1beta1.FailurePolicyTypeContinue), parallelism("3")))...)
		for range 30 {
			switch random.IntN(6) {
			case 0:
				w.restart()
				w.Observe()
			case 1:
				if all := w.Pods(); len(all) > 0 {
					require.NoError(t, w.Kube.Tracker().Delete(engine.PodResource, "ns", all[random.IntN(len(all))].Name))
				}
			case 2:
				w.changeNode(fmt.Sprint("n", 1+random.IntN(4)), func(node *corev1.Node) { node.Spec.Unschedulable = !node.Spec.Unschedulable })
			case 3:
				w.Observe()
			default:
				_, _ = w.Pass("ns", "job") // The caches may be old.
			}
			on := map[string]int{}
			for _, name := range w.on() {
				on[name]++
				require.Equal(t, 1, on[name], "seed %d: Pods on %s", seed, name)
			}
		}
	}
}

func TestNodeConcernsRunningJobs(t *testing.T) {
	tainted := newNode("n")
	tainted.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	small := newNode("n")
	small.Status.Allocatable = nil
	requesting := newJob(func(s *v1beta1.BroadcastJobSpec) {
		s.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	})
	assert.True(t, concerns(newJob(), nil, newNode("n")))
	assert.True(t, concerns(newJob(), newNode("n"), nil))
	assert.True(t, concerns(newJob(), tainted, newNode("n")))
	assert.True(t, concerns(requesting, small, newNode("n")))
	assert.False(t, concerns(newJob(), small, newNode("n")))
	assert.False(t, concerns(newJob(), nil, tainted))
	cordoned, again := tainted.DeepCopy(), newNode("n")
	cordoned.Spec.Unschedulable, again.UID = true, "again"
	assert.True(t, concerns(newJob(), tainted, cordoned), "the Pod there may have tolerated the taint")
	assert.True(t, concerns(newJob(), tainted, nil))
	assert.True(t, concerns(newJob(), newNode("n"), again))
	ended := newJob()
	ended.Status.Phase = v1beta1.BroadcastJobCompleted
	assert.False(t, concerns(ended, nil, newNode("n")))
}

func TestPodsOfAJobCanBeBoundWithoutTheScheduler(t *testing.T) {
	w := newWorld(t, newNode("n1"), newJob())
	w.r.options.BindPods = true
	w.settle()
	assert.Equal(t, "n1", w.Pods()[0].Spec.NodeName)
	assert.Nil(t, w.Pods()[0].Spec.Affinity)
}

// Case broadcastjob 12: a node that was created again under its name is a new one, although the Pod of the former one is still there.
func TestNodeThatIsCreatedAgainGetsAPod(t *testing.T) {
	w := newWorld(t, append(nodes(1), newJob(never))...)
	w.finish()
	w.pass(time.Minute)
	w.changeNode("n1", func(n *corev1.Node) { n.UID, n.CreationTimestamp = "again", metav1.NewTime(w.Clock.Now()) })
	w.settle()
	assert.Equal(t, []string{"n1", "n1"}, w.on())
}

// A Pod that lost its owner, or that somebody else made, has the name that the node's Pod would get.
func TestNodeGetsAPodUnderAnotherNameIfItsNameIsTaken(t *testing.T) {
	w := newWorld(t, append(nodes(1), newJob())...)
	w.step()
	lost := w.Pods()[0].DeepCopy()
	lost.OwnerReferences = nil
	w.Update(lost)
	w.settle()
	require.Len(t, w.Pods(), 2)
	for _, pod := range w.Pods() {
		assert.Equal(t, pod.Name != lost.Name, metav1.GetControllerOf(pod) != nil, pod.Name)
	}
	assert.Empty(t, w.eventsLike("Warning"))
}
