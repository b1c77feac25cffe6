package containerrestart

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/nodeagent/agenttest"
	"kruise.io/kruise/pkg/nodeagent/cluster/clustertest"
)

func force(r *request) { r.Spec.Strategy.ForceRecreate = true }

func ordered(r *request) { r.Spec.Strategy.OrderedRecreate = true }

func ignore(r *request) {
	r.Spec.Strategy.FailurePolicy = v1beta1.IgnoreContainerRecreateRequestFailurePolicy
}

func grace(seconds int64) func(*request) {
	return func(r *request) { r.Spec.Strategy.TerminationGracePeriodSeconds = &seconds }
}

func unready(seconds int64) func(*request) {
	return func(r *request) { r.Spec.Strategy.UnreadyGracePeriodSeconds = &seconds }
}

func deadline(seconds int64) func(*request) {
	return func(r *request) { r.Spec.ActiveDeadlineSeconds = &seconds }
}

func hooked(r *request) {
	r.Spec.Containers[0].PreStop = &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"bye"}}}
}

// Case containerrecreaterequest 11.
func TestOneContainerIsRestarted(t *testing.T) {
	simulate(t, func(w *world) {
		w.create("r", "p", []string{"app"})
		r := w.completed("r")
		assert.Empty(t, r.Status.Message)
		assert.Equal(t, []containerState{{Name: "app", Phase: "Succeeded", IsKilled: true}}, r.Status.ContainerRecreateStates)
		assert.Equal(t, []string{"stop a1 30"}, w.node.texts())
		assert.EqualValues(t, 1, w.restarts("p", "app"))
		assert.Zero(t, w.restarts("p", "sidecar"))
		assert.Equal(t, []string{"Normal Killing Stopping container app by ContainerRecreateRequest r"}, w.told())
		w.until("it is out of the agent's sight", func() bool { return w.get("r").Labels[pub.ContainerRecreateRequestActiveKey] == "" })

		statuses := w.statuses("r")
		assert.Equal(t, v1beta1.ContainerRecreateRequestStatus{Phase: "Recreating"}, statuses[0])
		assert.Equal(t, []containerState{{Name: "app", Phase: "Pending"}}, statuses[1].ContainerRecreateStates)
		assert.Equal(t, []containerState{{Name: "app", Phase: "Recreating", IsKilled: true}}, statuses[2].ContainerRecreateStates)
		assert.LessOrEqual(t, len(statuses), 6, "two more say what the Pod says, and the last is the end: %v", statuses)
	})
}

// Cases containerrecreaterequest 12, 13.
func TestContainersRestartTogetherOrInOrder(t *testing.T) {
	tests := map[string]struct {
		edit    func(*request)
		atLeast time.Duration
		atMost  time.Duration
	}{
		"at once, one after the other": {func(*request) {}, 0, 3 * time.Second},
		"when the first is back":       {ordered, 5 * time.Second, 10 * time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.node.readyAfter["sidecar"] = 5 * time.Second
				w.create("r", "p", []string{"sidecar", "app"}, tc.edit)
				assert.Empty(t, w.completed("r").Status.Message)
				assert.Equal(t, []string{"stop s1 30", "stop a1 30"}, w.node.texts(), "in the order of the request")
				between := w.node.made("stop a1")[0].Sub(w.node.made("stop s1")[0])
				assert.GreaterOrEqual(t, between, tc.atLeast)
				assert.LessOrEqual(t, between, tc.atMost)
			})
		})
	}
}

// Cases containerrecreaterequest 14, 15, 16.
func TestPreStopHooksHaveTheGracePeriod(t *testing.T) {
	tests := map[string]struct {
		edit   func(*request)
		hook   time.Duration
		err    error
		calls  []string
		after  time.Duration
		failed bool
	}{
		"a hook of 8 s":          {grace(30), 8 * time.Second, nil, []string{"exec bye in a1", "stop a1 22"}, 8 * time.Second, false},
		"no grace period":        {grace(0), 8 * time.Second, nil, []string{"stop a1 2"}, 0, false},
		"a hook that takes long": {grace(10), 60 * time.Second, nil, []string{"exec bye in a1", "stop a1 2"}, 10 * time.Second, true},
		"a hook that fails":      {grace(30), 0, errors.New("exit 1"), []string{"exec bye in a1", "stop a1 30"}, 0, true},
		"the default of agents": {func(r *request) { r.Spec.Strategy.TerminationGracePeriodSeconds = nil }, 0, nil,
			[]string{"exec bye in a1", "stop a1 30"}, 0, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.node.hook, w.node.hookErr = tc.hook, tc.err
				began := time.Now()
				w.create("r", "p", []string{"app"}, hooked, tc.edit)
				assert.Empty(t, w.completed("r").Status.Message)
				assert.Equal(t, tc.calls, w.node.texts())
				assert.Equal(t, tc.after, w.node.made("stop")[0].Sub(began).Truncate(time.Second))
				told := strings.Join(w.told(), "\n")
				assert.Equal(t, tc.failed, strings.Contains(told, "Warning FailedPreStopHook PreStop hook failed"), told)
			})
		})
	}
}

// Cases containerrecreaterequest 17, 18.
func TestNothingIsStoppedDuringTheDrain(t *testing.T) {
	for name, gated := range map[string]bool{"with the gate": true, "without the gate": false} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				if !gated {
					w.node.edit(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "uid-p"}}, func(p *corev1.Pod) {
						p.Spec.ReadinessGates = nil
					})
					agenttest.Pass(time.Second) // Let the caches see it.
				}
				began := time.Now()
				w.create("r", "p", []string{"app"}, unready(3))
				agenttest.Pass(2 * time.Second)
				assert.Empty(t, w.node.texts())
				assert.Equal(t, gated, w.held())
				assert.Equal(t, gated, len(w.get("r").Finalizers) == 1)
				assert.Empty(t, w.completed("r").Status.Message)
				w.until("it is given back", func() bool { return !w.held() && len(w.get("r").Finalizers) == 0 })
				waited := w.node.made("stop a1")[0].Sub(began)
				assert.GreaterOrEqual(t, waited, 3*time.Second)
				assert.Less(t, waited, 5*time.Second)
			})
		})
	}
}

// held returns true if the Pod p is out of service.
func (w *world) held() bool {
	pod, err := w.kube.CoreV1().Pods("ns").Get(w.t.Context(), "p", metav1.GetOptions{})
	require.NoError(w.t, err)
	for _, c := range pod.Status.Conditions {
		if c.Type == pub.KruisePodReadyConditionType {
			return c.Status == corev1.ConditionFalse
		}
	}
	return false
}

// Case containerrecreaterequest 19.
func TestRequestDeletedDuringDrainStopsNothing(t *testing.T) {
	simulate(t, func(w *world) {
		w.create("r", "p", []string{"app"}, unready(30))
		w.until("the Pod is out of service", w.held)
		w.edit("r", func(r *request) { r.DeletionTimestamp = new(metav1.Now()) })
		w.until("it is given back", func() bool { return !w.held() && len(w.get("r").Finalizers) == 0 })
		w.remove("r")
		agenttest.Pass(time.Minute)
		assert.Empty(t, w.node.texts())
	})
}

// Case containerrecreaterequest 20.
func TestSuccessWaitsForMinStartedSeconds(t *testing.T) {
	simulate(t, func(w *world) {
		w.node.readyAfter["app"] = time.Second
		w.create("r", "p", []string{"app"}, func(r *request) { r.Spec.Strategy.MinStartedSeconds = 10 })
		w.until("the next one runs", func() bool { return w.node.running("a2") })
		started := time.Now()
		assert.Empty(t, w.completed("r").Status.Message)
		assert.Greater(t, time.Since(started), 9*time.Second)
		assert.Less(t, time.Since(started), 12*time.Second)
	})
}

// Cases containerrecreaterequest 21, 22, 38.
func TestAlreadyRestartedContainerIsNotStopped(t *testing.T) {
	tests := map[string]struct {
		edit  func(*request)
		calls []string
	}{
		"after the request":                 {func(*request) {}, nil},
		"by force":                          {force, []string{"stop a2 30"}},
		"long before the request":           {func(r *request) { r.CreationTimestamp.Time = time.Now().Add(time.Hour) }, nil},
		"long before the request, by force": {func(r *request) { force(r); r.CreationTimestamp.Time = time.Now().Add(time.Hour) }, []string{"stop a2 30"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.agent()
				w.create("r", "p", []string{"app"}, tc.edit)
				w.node.mu.Lock()
				w.node.exits("a1")
				w.node.mu.Unlock()
				w.until("it came back by itself", func() bool { return w.node.running("a2") })
				w.agent = w.runAgent()
				r := w.completed("r")
				assert.Empty(t, r.Status.Message)
				assert.Equal(t, v1beta1.ContainerRecreateRequestSucceeded, r.Status.ContainerRecreateStates[0].Phase)
				assert.Equal(t, tc.calls, w.node.texts())
			})
		})
	}
}

// Cases containerrecreaterequest 23, 24.
func TestContainerThatCannotBeStoppedFails(t *testing.T) {
	tests := map[string]struct {
		edit   func(*request)
		states []containerState
		calls  []string
	}{
		"fail": {func(*request) {}, []containerState{
			{Name: "app", Phase: "Failed", Message: "kill container error: stop container a1: busy"}, {Name: "sidecar", Phase: "Pending"},
		}, []string{"stop a1 30"}},
		"ignore": {ignore, []containerState{
			{Name: "app", Phase: "Failed", Message: "kill container error: stop container a1: busy"}, {Name: "sidecar", Phase: "Succeeded", IsKilled: true},
		}, []string{"stop a1 30", "stop s1 30"}},
		"in order": {func(r *request) { ignore(r); ordered(r) }, []containerState{
			{Name: "app", Phase: "Failed", Message: "kill container error: stop container a1: busy"}, {Name: "sidecar", Phase: "Succeeded", IsKilled: true},
		}, []string{"stop a1 30", "stop s1 30"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.node.stopErr["app"] = errors.New("busy")
				w.create("r", "p", []string{"app", "sidecar"}, tc.edit)
				r := w.completed("r")
				assert.Empty(t, r.Status.Message)
				assert.Equal(t, tc.states, r.Status.ContainerRecreateStates)
				assert.Equal(t, tc.calls, w.node.texts())
			})
		})
	}
}

// Case containerrecreaterequest 25.
func TestDeadlineEndsRequest(t *testing.T) {
	simulate(t, func(w *world) {
		w.node.hook = 8 * time.Second
		began := time.Now()
		w.create("r", "p", []string{"app", "sidecar"}, hooked, deadline(3))
		r := w.completed("r")
		assert.Equal(t, "recreating has exceeded the activeDeadlineSeconds", r.Status.Message)
		assert.Less(t, time.Since(began), 5*time.Second)
		assert.Equal(t, []containerState{{Name: "app", Phase: "Pending"}, {Name: "sidecar", Phase: "Pending"}}, r.Status.ContainerRecreateStates)

		w.until("it is restarted nevertheless", func() bool { return w.restarts("p", "app") == 1 })
		agenttest.Pass(time.Minute)
		r.Status.ContainerRecreateStates[0] = containerState{Name: "app", Phase: "Recreating", IsKilled: true}
		assert.Equal(t, r.Status, w.get("r").Status, "the state of the stopped container is all that changes")
		assert.Empty(t, w.get("r").Labels[pub.ContainerRecreateRequestActiveKey])
		assert.Zero(t, w.restarts("p", "sidecar"))
	})
}

// Case containerrecreaterequest 27.
func TestPodIsDeletedDuringTheRestart(t *testing.T) {
	simulate(t, func(w *world) {
		w.node.noKubelet = true
		w.create("r", "p", []string{"app"})
		w.until("it is stopped", func() bool { return len(w.node.made("stop a1")) == 1 })
		require.NoError(t, w.kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "ns", "p"))
		assert.Equal(t, "pod has gone", w.completed("r").Status.Message)
	})
}

// Case containerrecreaterequest 29.
func TestRequestsOfOnePodQueue(t *testing.T) {
	tests := map[string]func(*world){
		"the first ends":     func(*world) {},
		"the first is gone":  func(w *world) { w.remove("one") },
		"the first is going": func(w *world) { w.edit("one", func(r *request) { r.DeletionTimestamp = new(metav1.Now()) }) },
		"a client removes its label": func(w *world) {
			w.edit("one", func(r *request) {
				r.Status.Phase, r.Status.CompletionTime = "Completed", new(metav1.Now())
				delete(r.Labels, pub.ContainerRecreateRequestActiveKey)
			})
		},
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.node.hook = 5 * time.Second
				w.create("one", "p", []string{"app"}, hooked)
				w.create("two", "p", []string{"sidecar"})
				agenttest.Pass(time.Second)
				assert.Equal(t, v1beta1.ContainerRecreateRequestRecreating, w.get("one").Status.Phase)
				assert.Equal(t, v1beta1.ContainerRecreateRequestPending, w.get("two").Status.Phase)
				assert.Equal(t, "waiting for one", w.get("two").Status.Message)
				end(w)
				began := time.Now()
				r := w.completed("two")
				assert.Empty(t, r.Status.Message)
				assert.Less(t, time.Since(began), 15*time.Second, "no wake-up is lost")
				assert.Len(t, w.node.made("stop s1"), 1)
			})
		})
	}
}

// A long hook must not delay the waiting message of another request. Otherwise the controller would end that request
// for lack of an answer.
func TestLongHookDoesNotDelayOtherAnswers(t *testing.T) {
	simulate(t, func(w *world) {
		w.node.hook = 10 * time.Minute
		w.create("one", "p", []string{"app"}, hooked, grace(1200))
		w.until("the hook runs", func() bool { return len(w.node.made("exec")) == 1 })
		w.create("two", "p", []string{"sidecar"})
		agenttest.Pass(2 * time.Minute)
		assert.Equal(t, v1beta1.ContainerRecreateRequestPending, w.get("two").Status.Phase)
		assert.Empty(t, w.completed("two").Status.Message)
	})
}

// The hook of a request that its deadline has ended goes on. Another request must be told to wait meanwhile. Otherwise the controller
// would end it for lack of an answer.
func TestHookOfAnEndedRequestDoesNotDelayAnswers(t *testing.T) {
	simulate(t, func(w *world) {
		w.node.hook = 10 * time.Minute
		w.create("one", "p", []string{"app"}, hooked, grace(1200), deadline(3))
		w.create("two", "p", []string{"sidecar"})
		w.completed("one")
		w.create("three", "p", []string{"sidecar"}, unready(3))
		agenttest.Pass(2 * time.Second)
		assert.Equal(t, v1beta1.ContainerRecreateRequestPending, w.get("two").Status.Phase)
		assert.Equal(t, "waiting for a container that still stops for a request that has ended", w.get("two").Status.Message)
		w.remove("two")
		agenttest.Pass(2 * time.Minute)
		assert.Equal(t, v1beta1.ContainerRecreateRequestPending, w.get("three").Status.Phase)
		assert.Empty(t, w.completed("three").Status.Message)
		assert.Len(t, w.node.made("stop s1"), 1)
	})
}

func TestManyRequestsOfOnePodByForce(t *testing.T) {
	simulate(t, func(w *world) {
		const count = 20
		for i := range count {
			w.create(fmt.Sprintf("r%02d", i), "p", []string{"app"}, force)
		}
		for i := range count {
			assert.Empty(t, w.completed(fmt.Sprintf("r%02d", i)).Status.Message)
		}
		assert.EqualValues(t, count, w.restarts("p", "app"), "one restart for each")
		assert.Len(t, w.node.made("stop"), count)
		for i := range count {
			statuses := w.statuses(fmt.Sprintf("r%02d", i))
			waits := 0
			for _, status := range statuses {
				if status.Phase == v1beta1.ContainerRecreateRequestPending {
					waits++
				}
			}
			assert.LessOrEqual(t, waits, 1, "what a request waits for is written once: %v", statuses)
		}
	})
}

func TestPodsAreWorkedOnSideBySide(t *testing.T) {
	simulate(t, func(w *world) {
		w.node.hook = 10 * time.Second
		began := time.Now()
		for i := range 20 {
			pod := w.pod(fmt.Sprintf("p%d", i))
			w.create(fmt.Sprintf("r%d", i), pod.Name, []string{"app"}, hooked)
		}
		for i := range 20 {
			w.completed(fmt.Sprintf("r%d", i))
		}
		assert.Less(t, time.Since(began), 60*time.Second, "one after the other they would take 200 s")
	})
}

// More Pods than there are workers stop slowly, as Pods of one tenant may. The request of another Pod is carried out meanwhile.
func TestSlowStopsDoNotDelayOtherPods(t *testing.T) {
	simulate(t, func(w *world) {
		const slow = DefaultWorkers + 8
		w.node.hook = time.Hour
		for i := range slow {
			pod := w.pod(fmt.Sprintf("slow%d", i))
			w.create(fmt.Sprintf("slow%d", i), pod.Name, []string{"app"}, hooked, grace(7200))
		}
		w.until("all hooks run", func() bool { return len(w.node.made("exec")) == slow })
		began := time.Now()
		w.create("r", "p", []string{"app"})
		assert.Empty(t, w.completed("r").Status.Message)
		assert.Less(t, time.Since(began), 10*time.Second)
		assert.Nil(t, w.get("slow0").Status.CompletionTime)
	})
}

// The runtime is too busy to answer a stop in time. That is no refusal.
func TestStopWithoutAnAnswerIsTriedAgain(t *testing.T) {
	simulate(t, func(w *world) {
		w.node.stopErr["app"] = status.Error(codes.DeadlineExceeded, "context deadline exceeded")
		w.create("r", "p", []string{"app"})
		w.until("it was tried", func() bool { return len(w.node.made("stop")) == 2 })
		w.node.mu.Lock()
		delete(w.node.stopErr, "app")
		w.node.mu.Unlock()
		assert.Equal(t, []containerState{{Name: "app", Phase: "Succeeded", IsKilled: true}}, w.completed("r").Status.ContainerRecreateStates)
	})
}

// The kubelet has created the container but not started it. The agent waits without writing, and stops it once it runs.
func TestContainerThatHasNotStartedIsStoppedLater(t *testing.T) {
	simulate(t, func(w *world) {
		w.node.set("a1", runtimeapi.ContainerState_CONTAINER_CREATED)
		w.create("r", "p", []string{"app"})
		agenttest.Pass(time.Minute)
		assert.Empty(t, w.node.texts())
		assert.LessOrEqual(t, len(w.statuses("r")), 2, "%v", w.statuses("r"))
		w.node.mu.Lock()
		assert.Less(t, w.node.asked, 20, "the delay grows")
		w.node.mu.Unlock()
		w.node.set("a1", runtimeapi.ContainerState_CONTAINER_RUNNING)
		assert.Empty(t, w.completed("r").Status.Message)
		assert.Equal(t, []string{"stop a1 30"}, w.node.texts())
	})
}

// After a restart, a runtime may not know the state of a container. It must be stopped to be replaced.
func TestContainerInUnknownStateIsStopped(t *testing.T) {
	simulate(t, func(w *world) {
		w.node.set("a1", runtimeapi.ContainerState_CONTAINER_UNKNOWN)
		w.create("r", "p", []string{"app"})
		assert.Empty(t, w.completed("r").Status.Message)
		assert.Equal(t, []string{"stop a1 30"}, w.node.texts())
	})
}

func TestLongestPeriodsDoNotOverflow(t *testing.T) {
	simulate(t, func(w *world) {
		w.create("r", "p", []string{"app"}, grace(math.MaxInt64))
		assert.Empty(t, w.completed("r").Status.Message)
		assert.Equal(t, []string{"stop a1 2147483647"}, w.node.texts())
		w.create("drains", "p", []string{"app"}, unready(math.MaxInt64), deadline(math.MaxInt64))
		agenttest.Pass(time.Hour)
		assert.Nil(t, w.get("drains").Status.CompletionTime, "the drain has no end")
		assert.Len(t, w.node.texts(), 1)
	})
}

// Case containerrecreaterequest 30.
func TestAgentThatEndsAtAnyMomentRestartsOnce(t *testing.T) {
	for name, edit := range map[string]func(*request){"not by force": func(*request) {}, "by force": force} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				// After the container has stopped, all writes of the agent fail until the kubelet has restarted the container.
				w.node.onStop = func(string) { w.deaf.Store(true) }
				w.create("r", "p", []string{"app"}, edit)
				w.until("it is stopped", func() bool { return len(w.node.made("stop a1")) == 1 })
				w.agent()
				w.deaf.Store(false)
				agenttest.Pass(10 * time.Second)
				w.agent = w.runAgent()
				r := w.completed("r")
				assert.Empty(t, r.Status.Message)
				assert.Equal(t, v1beta1.ContainerRecreateRequestSucceeded, r.Status.ContainerRecreateStates[0].Phase)
				assert.Equal(t, []string{"stop a1 30"}, w.node.texts(), "no second one")
				assert.EqualValues(t, 1, w.restarts("p", "app"))
			})
		})
	}
	t.Run("before it stops the container, by force", func(t *testing.T) {
		simulate(t, func(w *world) {
			w.node.hook = time.Hour
			w.create("r", "p", []string{"app"}, hooked, force, grace(7200))
			w.until("the hook runs", func() bool { return len(w.node.made("exec")) == 1 })
			state := w.get("r").Status.ContainerRecreateStates[0]
			assert.Equal(t, containerState{Name: "app", Phase: "Recreating", IsKilled: true, Message: "stopping test://a1"}, state)
			w.agent()
			w.node.mu.Lock()
			w.node.hook = 0
			w.node.mu.Unlock()
			w.agent = w.runAgent()
			w.completed("r")
			assert.Len(t, w.node.made("stop a1"), 1)
			assert.EqualValues(t, 1, w.restarts("p", "app"))
		})
	})
}

// Cases containerrecreaterequest 31, 32.
func TestRequestNeedsOneKnownRuntime(t *testing.T) {
	tests := map[string]struct {
		ids  []string
		want string
	}{
		"two runtimes": {[]string{"test://a1", "other://s1"},
			"failed to find runtime service: the containers belong to two runtimes, test and other"},
		"none of that name": {[]string{"docker://a1", "docker://s1"}, `failed to find runtime service: no runtime named "docker" on node n1`},
		"an ID that does not name a runtime": {[]string{"a1", "test://s1"},
			`failed to find runtime service: container ID "a1" of container app does not name a runtime`},
		"an ID without the instance":    {[]string{"test://", "test://s1"}, "does not name a runtime"},
		"a request without an instance": {[]string{"", "test://s1"}, "failed to find runtime service: "},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.create("r", "p", []string{"app", "sidecar"}, func(r *request) {
					for i, id := range tc.ids {
						r.Spec.Containers[i].StatusContext.ContainerID = id
					}
				})
				assert.Contains(t, w.completed("r").Status.Message, tc.want)
				assert.Empty(t, w.node.texts())
			})
		})
	}
}

func TestUnavailableRuntimeIsRetried(t *testing.T) {
	simulate(t, func(w *world) {
		w.node.away = true
		w.create("r", "p", []string{"app"})
		agenttest.Pass(30 * time.Second)
		assert.Empty(t, w.get("r").Status.ContainerRecreateStates, "it says nothing of the container")
		w.node.mu.Lock()
		w.node.away = false
		w.node.mu.Unlock()
		r := w.completed("r")
		assert.Equal(t, v1beta1.ContainerRecreateRequestSucceeded, r.Status.ContainerRecreateStates[0].Phase)
	})
}

func TestRuntimeStopsDuringAContainerStop(t *testing.T) {
	simulate(t, func(w *world) {
		w.node.stopErr["app"] = status.Error(codes.Unavailable, "error reading from server: EOF")
		w.create("r", "p", []string{"app"})
		agenttest.Pass(5 * time.Second)
		assert.Equal(t, []containerState{{Name: "app", Phase: "Pending"}}, w.get("r").Status.ContainerRecreateStates)
		w.node.mu.Lock()
		delete(w.node.stopErr, "app")
		w.node.mu.Unlock()
		assert.Equal(t, v1beta1.ContainerRecreateRequestSucceeded, w.completed("r").Status.ContainerRecreateStates[0].Phase)
		assert.EqualValues(t, 1, w.restarts("p", "app"))
	})
}

func TestKubeletIsDown(t *testing.T) {
	simulate(t, func(w *world) {
		w.node.noKubelet = true
		w.create("r", "p", []string{"app", "sidecar"})
		agenttest.Pass(time.Minute)
		assert.Equal(t, []containerState{
			{Name: "app", Phase: "Recreating", IsKilled: true}, {Name: "sidecar", Phase: "Recreating", IsKilled: true},
		}, w.get("r").Status.ContainerRecreateStates)
		w.node.next("a1")
		w.node.next("s1")
		assert.Empty(t, w.completed("r").Status.Message)
		assert.Len(t, w.node.texts(), 2)
	})
}

func TestMissingContainer(t *testing.T) {
	simulate(t, func(w *world) {
		w.node.mu.Lock()
		w.node.containers = nil
		w.node.mu.Unlock()
		w.create("r", "p", []string{"app"})
		w.until("it says so", func() bool { return len(w.get("r").Status.ContainerRecreateStates) == 1 })
		assert.Equal(t, containerState{Name: "app", Phase: "Pending", Message: "not found container on Node"}, w.get("r").Status.ContainerRecreateStates[0])
		agenttest.Pass(2 * time.Minute)
		w.node.start(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "uid-p"}}, "app", 1)
		assert.Equal(t, v1beta1.ContainerRecreateRequestSucceeded, w.completed("r").Status.ContainerRecreateStates[0].Phase)
	})
}

// The container never runs again, so the request ends exactly at its deadline.
func TestRestartPolicyNever(t *testing.T) {
	simulate(t, func(w *world) {
		w.node.noKubelet = true
		w.create("r", "p", []string{"app"}, deadline(60))
		agenttest.Pass(30 * time.Second)
		assert.Nil(t, w.get("r").Status.CompletionTime)
		assert.Equal(t, "recreating has exceeded the activeDeadlineSeconds", w.completed("r").Status.Message)
	})
}

// Case containerrecreaterequest 26.
func TestWithoutAnAgentARequestEnds(t *testing.T) {
	simulate(t, func(w *world) {
		w.agent()
		w.create("r", "p", []string{"app"})
		w.create("waits", "p", []string{"app"}, func(r *request) { r.Status.Phase = v1beta1.ContainerRecreateRequestPending })
		began := time.Now()
		assert.Equal(t, "daemon has not responded for a long time", w.completed("r").Status.Message)
		assert.GreaterOrEqual(t, time.Since(began), 59*time.Second)
		agenttest.Pass(time.Hour)
		assert.Nil(t, w.get("waits").Status.CompletionTime)
		w.agent = w.runAgent()
		w.completed("waits")
	})
}

// The controller writes between two writes of the agent. The agent keeps its result and does not repeat the action.
func TestResultSurvivesAConcurrentWrite(t *testing.T) {
	simulate(t, func(w *world) {
		w.node.stopErr["app"] = errors.New("busy")
		w.node.hook = 5 * time.Second
		w.create("r", "p", []string{"app"}, hooked)
		w.until("the hook runs", func() bool { return len(w.node.made("exec")) == 1 })
		w.edit("r", func(r *request) { r.Labels["mine"] = "new" })
		r := w.completed("r")
		assert.Equal(t, v1beta1.ContainerRecreateRequestFailed, r.Status.ContainerRecreateStates[0].Phase)
		assert.Equal(t, []string{"exec bye in a1", "stop a1 25"}, w.node.texts(), "once")
	})
}

// TestStaticPodIsRestarted restarts a container that the runtime has under the UID of the static Pod.
func TestStaticPodIsRestarted(t *testing.T) {
	simulate(t, func(w *world) {
		w.pod("s", func(p *corev1.Pod) {
			p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "0123", staticUIDKey: "0123"}
		})
		w.create("r", "s", []string{"app"})
		r := w.completed("r")
		assert.Equal(t, []containerState{{Name: "app", Phase: "Succeeded", IsKilled: true}}, r.Status.ContainerRecreateStates)
		assert.Equal(t, []string{"stop s-a1 30"}, w.node.texts())
	})
}

// TestStaticPodOfAnotherMirror checks that no containers are found if a new mirror Pod has the name, if the Pod is not a
// mirror Pod, or if its annotation has the UID of another Pod.
func TestStaticPodOfAnotherMirror(t *testing.T) {
	for name, edit := range map[string]func(*corev1.Pod){
		"another mirror Pod":   func(p *corev1.Pod) { p.UID = "later" },
		"no mirror Pod at all": func(p *corev1.Pod) { delete(p.Annotations, corev1.MirrorPodAnnotationKey) },
		"the UID of another":   func(p *corev1.Pod) { p.Annotations[staticUIDKey] = "uid-p" },
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				pod := w.pod("s", func(p *corev1.Pod) {
					p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "0123", staticUIDKey: "0123"}
				})
				c := &Controller{config: Config{Client: clustertest.New(w.kube, nil)}}
				r := &request{
					ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Labels: map[string]string{pub.ContainerRecreateRequestPodUIDKey: string(pod.UID)}},
					Spec:       v1beta1.ContainerRecreateRequestSpec{PodName: "s"},
				}
				found, err := c.containersOf(t.Context(), w.node, r)
				require.NoError(t, err)
				assert.Len(t, found, 2)
				changed := pod.DeepCopy()
				edit(changed)
				require.NoError(t, w.kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), changed, "ns"))
				found, err = c.containersOf(t.Context(), w.node, r)
				require.NoError(t, err)
				assert.Empty(t, found)
			})
		})
	}
}

func TestHookGoesToThePod(t *testing.T) {
	simulate(t, func(w *world) {
		hook := &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Host: "elsewhere"}}
		c := &Controller{config: Config{Client: clustertest.New(w.kube, nil)}}
		pod, err := w.kube.CoreV1().Pods("ns").Get(t.Context(), "p", metav1.GetOptions{})
		require.NoError(t, err)
		own := string(pod.UID)
		for _, tc := range []struct {
			pod, uid string
			hook     *corev1.LifecycleHandler
			want     string
		}{
			{"p", own, nil, ""}, {"p", own, hook, ""}, {"p", own, &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{}}, "10.0.0.1"},
			{"p", "before", &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{}}, ""},
			{"gone", own, &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{}}, ""},
		} {
			r := &request{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Labels: map[string]string{pub.ContainerRecreateRequestPodUIDKey: tc.uid}},
				Spec:       v1beta1.ContainerRecreateRequestSpec{PodName: tc.pod},
			}
			ip, err := c.podIP(t.Context(), r, tc.hook)
			require.NoError(t, err)
			assert.Equal(t, tc.want, ip)
		}
	})
}

// Case containerrecreaterequest 35.
func TestAgentSelectsItsRequests(t *testing.T) {
	simulate(t, func(w *world) {
		w.create("r", "p", []string{"app"})
		w.completed("r")
		const selector = "crr.apps.kruise.io/active=true,crr.apps.kruise.io/node-name=n1"
		seen := 0
		for _, action := range w.kruise.Actions() {
			watch, ok := action.(clienttesting.WatchAction)
			if ok && watch.GetWatchRestrictions().Labels.String() == selector {
				seen++
			}
		}
		assert.Equal(t, 1, seen)
	})
}
