package containerreporter

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/containerreport"
	"kruise.io/kruise/pkg/nodeagent/agenttest"
	"kruise.io/kruise/pkg/workload/inplace/record"
)

var (
	a = map[string]string{"V": "a", "PATH": "/bin"}
	b = map[string]string{"V": "b", "PATH": "/bin"}
)

// Case node-agent 10.
func TestRestartIsReported(t *testing.T) {
	inWorld(t, func(w *world) {
		w.start()
		w.runtime.start("uid-1", "main", "A", 0xff, 0, a)
		w.change("web", func(p *corev1.Pod) { runs(p, "main", "A") })
		pod := w.pod("web")
		hash := containerreport.Expected(containerreport.VariablesOf(&pod.Spec.Containers[0]), pod.Labels, nil)
		assert.JSONEq(w.t, fmt.Sprintf(`{"containers":[{"name":"main","containerID":"test://A","restartCount":0,
			"hashes":{"plainHash":255,"extractedEnvFromMetadataHash":%d}}]}`, hash), pod.Annotations[pub.RuntimeContainerMetaKey])
		assert.Zero(w.t, w.runtime.called("exec"), "the runtime tells the environment")

		w.runtime.start("uid-1", "main", "B", 0xfe, 1, a)
		w.change("web", func(p *corev1.Pod) { runs(p, "main", "B") })
		entry := w.entry("web", "main")
		assert.Equal(w.t, "test://B", entry.ContainerID)
		assert.EqualValues(w.t, 1, entry.RestartCount)
		assert.EqualValues(w.t, 0xfe, entry.Hashes.PlainHash)
		w.change("web", func(p *corev1.Pod) { p.Status.Message = "something else" })
		agenttest.Pass(settles)
		assert.Equal(w.t, 2, w.patches(), "only what differs is written")
	}, newPod("web", "main"))
}

// The variables of such a Pod are not kept, so they are read from the API.
func TestPodWithManyVariablesIsReported(t *testing.T) {
	pod := newPod("web", "main")
	pod.Spec.Containers[0].Env = manyVariables(2000)
	env := map[string]string{}
	for i := range pod.Spec.Containers[0].Env {
		env[pod.Spec.Containers[0].Env[i].Name] = "a"
	}
	inWorld(t, func(w *world) {
		w.start()
		w.runtime.start("uid-1", "main", "A", 1, 0, env)
		w.change("web", func(p *corev1.Pod) { runs(p, "main", "A") })
		assert.Equal(w.t, containerreport.Expected(containerreport.VariablesOf(&pod.Spec.Containers[0]), pod.Labels, nil),
			w.entry("web", "main").Hashes.ExtractedEnvFromMetadataHash)
		agenttest.Pass(settles)
		assert.Equal(w.t, 1, w.patches())
	}, pod)
}

func TestEnvironmentOfManyLinesIsParsed(t *testing.T) {
	lines := []string{"no name", "A=1", "B=2", "more", "", "C=="}
	assert.Equal(t, map[string]string{"A": "1", "B": "2\nmore\n", "C": "="}, parse(lines))
	assert.Empty(t, parse(nil))
	start := time.Now()
	long := parse(append([]string{"A=1"}, slices.Repeat([]string{"x"}, 500000)...))
	assert.Len(t, long["A"], 1000001)
	assert.Less(t, time.Since(start), 5*time.Second)
}

// Cases node-agent 10, 11.
func TestWhichPodsAreReported(t *testing.T) {
	owned := func(apiVersion string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: "X", Name: "x", Controller: new(true)}}
	}
	tests := map[string]struct {
		edit func(*corev1.Pod)
		want bool
	}{
		"of a CloneSet":    {func(*corev1.Pod) {}, true},
		"of a Deployment":  {func(p *corev1.Pod) { p.OwnerReferences = owned("apps/v1") }, false},
		"without an owner": {func(p *corev1.Pod) { p.OwnerReferences = nil }, false},
		"with an injected sidecar": {func(p *corev1.Pod) {
			p.OwnerReferences, p.Annotations = owned("apps/v1"), map[string]string{sidecarSetHashKey: "{}"}
		}, true},
		"going": {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web", "main")
			tc.edit(pod)
			runs(pod, "main", "A")
			trimmed, err := trim(pod)
			require.NoError(t, err)
			assert.Equal(t, tc.want, trimmed.(*knownPod).outdated(true))
		})
	}
}

// Case node-agent 12.
func TestStatusesInAnotherOrderKeepTheirHashes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.start()
		w.runtime.start("uid-1", "side", "S", 2, 0, a)
		w.runtime.start("uid-1", "main", "M", 1, 0, a)
		w.change("web", func(p *corev1.Pod) {
			runs(p, "side", "S")
			runs(p, "main", "M")
		})
		for name, want := range map[string]containerreport.Container{
			"main": {ContainerID: "test://M", Hashes: containerreport.Hashes{PlainHash: 1}},
			"side": {ContainerID: "test://S", Hashes: containerreport.Hashes{PlainHash: 2}},
		} {
			entry := w.entry("web", name)
			assert.Equal(w.t, want.ContainerID, entry.ContainerID)
			assert.Equal(w.t, want.Hashes.PlainHash, entry.Hashes.PlainHash)
		}
	}, newPod("web", "main", "side"))
}

// Case node-agent 13.
func TestMetadataOfAHeldPodRestartsItsContainerOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		w.start()
		w.runtime.start("uid-1", "main", "A", 1, 0, a)
		w.change("web", func(p *corev1.Pod) { runs(p, "main", "A") })
		w.change("web", func(p *corev1.Pod) {
			hold(p, corev1.ConditionFalse)
			p.Labels["v"] = "b"
		})
		assert.Zero(w.t, w.runtime.called("stop"), "the kubelet may not have seen the change yet")
		agenttest.Pass(settlePeriod)
		assert.Equal(w.t, 1, w.runtime.called("exec bye A"), "its hook runs")
		assert.Equal(w.t, 1, w.runtime.called("stop A 30"), "in its grace period: %v", w.runtime.calls)
		assert.Equal(w.t, "Normal Killing Stopping containerID test://A by container meta restarter", <-w.events.Events)

		w.runtime.start("uid-1", "main", "B", 1, 1, b)
		w.change("web", func(p *corev1.Pod) { runs(p, "main", "B") })
		pod, entry := w.pod("web"), w.entry("web", "main")
		assert.Equal(w.t, "test://B", entry.ContainerID)
		assert.Equal(w.t, containerreport.Expected(containerreport.VariablesOf(&pod.Spec.Containers[0]), pod.Labels, nil),
			entry.Hashes.ExtractedEnvFromMetadataHash)
		agenttest.Pass(settles)
		assert.Equal(w.t, 1, w.runtime.called("stop"), "no further one")
	}, newPod("web", "main"))
}

// An update restarts the instances that it recorded, each once, and those alone. The feature for variables that read metadata may be off.
// Case node-agent 13.
func TestUpdateInPlaceRestartsTheRecordedInstances(t *testing.T) {
	inWorld(t, func(w *world) {
		w.start()
		for _, name := range []string{"main", "side"} {
			w.runtime.start("uid-1", name, name, 1, 0, a)
		}
		recorded := func(p *corev1.Pod) {
			require.NoError(w.t, record.Write(p, &record.State{RestartContainers: map[string]string{"main": "test://main", "side": "test://old"}}))
		}
		w.change("web", func(p *corev1.Pod) {
			runs(p, "main", "main")
			runs(p, "side", "side")
			recorded(p)
		})
		agenttest.Pass(settles)
		assert.Zero(w.t, w.runtime.called("stop"), "the Pod serves")
		w.change("web", func(p *corev1.Pod) { hold(p, corev1.ConditionFalse) })
		assert.Equal(w.t, 1, w.runtime.called("stop main 30"), "at once: %v", w.runtime.calls)
		w.runtime.start("uid-1", "main", "B", 1, 1, a)
		w.change("web", func(p *corev1.Pod) { runs(p, "main", "B") })
		agenttest.Pass(settles)
		assert.Equal(w.t, "test://B", w.entry("web", "main").ContainerID)
		assert.Equal(w.t, 1, w.runtime.called("stop"), "no further one: %v", w.runtime.calls)
	}, newPod("web", "main", "side"))
}

// A stop takes as long as the author of the Pod lets it take. The Pods of others are restarted meanwhile.
func TestSlowStopsHoldUpNoOtherPod(t *testing.T) {
	slow := 20
	pods := []*corev1.Pod{newPod("web", "main")}
	for i := range slow {
		pod := newPod(fmt.Sprint("slow-", i), "main")
		pod.UID = types.UID(pod.Name)
		pods = append(pods, pod)
	}
	inWorld(t, func(w *world) {
		w.start()
		for i, pod := range pods[1:] {
			w.runtime.start(string(pod.UID), "main", fmt.Sprint("slow-", i), 1, 0, a)
			w.change(pod.Name, func(p *corev1.Pod) { runs(p, "main", fmt.Sprint("slow-", i)) })
		}
		w.runtime.start(string(pods[0].UID), "main", "A", 1, 0, a)
		w.change("web", func(p *corev1.Pod) { runs(p, "main", "A") })
		for _, pod := range append(pods[1:], pods[0]) {
			w.change(pod.Name, func(p *corev1.Pod) {
				hold(p, corev1.ConditionFalse)
				p.Labels["v"] = "b"
			})
		}
		agenttest.Pass(2 * settlePeriod)
		assert.Equal(w.t, 1, w.runtime.called("stop A 30"), "%v", w.runtime.calls)
	}, pods...)
}

// Case node-agent 14.
func TestNothingRestartsWhileThePodServes(t *testing.T) {
	for _, status := range []corev1.ConditionStatus{corev1.ConditionTrue, ""} {
		t.Run(string(status), func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.start()
				w.runtime.start("uid-1", "main", "A", 1, 0, a)
				w.change("web", func(p *corev1.Pod) { runs(p, "main", "A") })
				w.change("web", func(p *corev1.Pod) {
					hold(p, status)
					p.Labels["v"] = "b"
				})
				agenttest.Pass(settles)
				assert.Equal(w.t, "test://A", w.entry("web", "main").ContainerID)
				assert.Zero(w.t, w.runtime.called("stop"))
			}, newPod("web", "main"))
		})
	}
}

func TestKubeletReplacesContainerWithNewImage(t *testing.T) {
	inWorld(t, func(w *world) {
		w.start()
		for _, name := range []string{"main", "side"} {
			w.runtime.start("uid-1", name, name, 1, 0, a)
		}
		w.change("web", func(p *corev1.Pod) {
			runs(p, "main", "main")
			runs(p, "side", "side")
		})
		w.change("web", func(p *corev1.Pod) {
			hold(p, corev1.ConditionFalse)
			p.Labels["v"], p.Spec.Containers[0].Image = "b", "app:2"
			p.Annotations[pub.InPlaceUpdateStateKey] = `{"lastContainerStatuses":{"main":{"containerID":"test://main","image":"app:1"},
				"side":{"containerID":"test://side","image":"app:1"}}}`
		})
		agenttest.Pass(settles)
		assert.Equal(w.t, 1, w.runtime.called("stop side"))
		assert.Zero(w.t, w.runtime.called("stop main"), "the kubelet ends it")
	}, newPod("web", "main", "side"))
}

// Case node-agent 15.
func TestEnvironmentWithoutRuntimeSupport(t *testing.T) {
	inWorld(t, func(w *world) {
		w.start()
		w.runtime.details, w.runtime.failExecs = false, 2
		w.runtime.start("uid-1", "main", "A", 1, 0, map[string]string{"V": "stale"})
		w.change("web", func(p *corev1.Pod) {
			hold(p, corev1.ConditionFalse)
			runs(p, "main", "A")
		})
		entry := w.entry("web", "main")
		assert.Equal(w.t, "test://A", entry.ContainerID)
		assert.Zero(w.t, entry.Hashes.ExtractedEnvFromMetadataHash)
		agenttest.Pass(environmentRetry)
		assert.Zero(w.t, w.runtime.called("stop"), "no restart before the environment is known")
		agenttest.Pass(settles)
		assert.NotZero(w.t, w.entry("web", "main").Hashes.ExtractedEnvFromMetadataHash)
		assert.Equal(w.t, 3, w.runtime.called("exec env A"))
		assert.Equal(w.t, 1, w.runtime.called("stop A"))
	}, newPod("web", "main"))
}

// Cases node-agent 16, 17.
func TestContainersThatReadNoMetadataAreNotRestarted(t *testing.T) {
	pod := newPod("web", "main")
	pod.Spec.Containers[0].Env[0].Name = pub.SidecarSetVersionEnv
	inWorld(t, func(w *world) {
		w.start()
		w.runtime.details = false
		w.runtime.start("uid-1", "main", "A", 1, 0, a)
		w.change("web", func(p *corev1.Pod) {
			runs(p, "main", "A")
			hold(p, corev1.ConditionFalse)
		})
		steady := containerreport.Expected(nil, nil, nil)
		assert.Equal(w.t, steady, w.entry("web", "main").Hashes.ExtractedEnvFromMetadataHash)
		w.change("web", func(p *corev1.Pod) { p.Labels["v"] = "b" })
		agenttest.Pass(settles)
		assert.Equal(w.t, steady, w.entry("web", "main").Hashes.ExtractedEnvFromMetadataHash)
		assert.Zero(w.t, w.runtime.called("exec")+w.runtime.called("stop"), "nothing is asked or ended")
	}, pod)
}

// Case node-agent 18.
func TestLaterAgentWritesNothing(t *testing.T) {
	var pods []*corev1.Pod
	for i := range 90 { // The fake watch buffers at most 100 events.
		pod := newPod(fmt.Sprintf("web-%d", i), "main")
		runs(pod, "main", "A")
		pods = append(pods, pod)
	}
	reported := newPod("reported", "main")
	reported.Annotations = map[string]string{pub.RuntimeContainerMetaKey: `{"containers":[{"name":"main","containerID":"test://old"}]}`}
	runs(reported, "main", "A")
	inWorld(t, func(w *world) {
		w.runtime.start("uid-1", "main", "A", 1, 0, a)
		w.start()
		agenttest.Pass(settles)
		assert.Equal(w.t, "test://A", w.entry("reported", "main").ContainerID)
		assert.Equal(w.t, 1, w.patches(), "a report that is wrong is corrected, and nothing else")
		w.change("web-7", func(p *corev1.Pod) { p.Labels["v"] = "b" })
		assert.Equal(w.t, "test://A", w.entry("web-7", "main").ContainerID)
	}, append(pods, reported)...)
}

// An in-place update holds the Pod until the agent reports. So the agent reports on it even if it has not changed
// since the agent started.
func TestHeldPodIsReportedAtStart(t *testing.T) {
	pod := newPod("web", "main")
	runs(pod, "main", "A")
	hold(pod, corev1.ConditionFalse)
	inWorld(t, func(w *world) {
		w.runtime.start("uid-1", "main", "A", 1, 0, b)
		w.start()
		agenttest.Pass(settles)
		assert.Equal(w.t, 1, w.runtime.called("stop A"))
	}, pod)
}

func TestOnlyPodsOfTheNodeAreWatched(t *testing.T) {
	inWorld(t, func(w *world) {
		w.start()
		require.NotEmpty(w.t, w.client.Actions())
		for _, action := range w.client.Actions() {
			if watch, ok := action.(clienttesting.WatchAction); ok {
				assert.Equal(w.t, "spec.nodeName=node", watch.GetWatchRestrictions().Fields.String())
			}
			assert.Contains(w.t, []string{"list", "watch"}, action.GetVerb())
		}
	})
}
