package containerreporter

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/containerreport"
)

var (
	a = map[string]string{"V": "a", "PATH": "/bin"}
	b = map[string]string{"V": "b", "PATH": "/bin"}
)

func id(want string) func(*containerreport.Container) bool {
	return func(c *containerreport.Container) bool { return c.ContainerID == "test://"+want }
}

// quiet checks that what keeps returning want for 300 ms, in which the agent could act.
func (w *world) quiet(what func() int, want int, why string) {
	w.t.Helper()
	require.Never(w.t, func() bool { return what() != want }, 300*time.Millisecond, 10*time.Millisecond, why)
}

// Case node-agent 10.
func TestARestartIsReported(t *testing.T) {
	w := run(t, newPod("web", "main"))
	w.runtime.start("uid-1", "main", "A", 0xff, 0, a)
	w.change("web", func(p *corev1.Pod) { runs(p, "main", "A") })
	w.entry("web", "main", id("A"))
	pod := w.pod("web")
	hash := containerreport.Expected(containerreport.VariablesOf(&pod.Spec.Containers[0]), pod.Labels, nil)
	assert.JSONEq(t, fmt.Sprintf(`{"containers":[{"name":"main","containerID":"test://A","restartCount":0,
		"hashes":{"plainHash":255,"extractedEnvFromMetadataHash":%d}}]}`, hash), pod.Annotations[pub.RuntimeContainerMetaKey])
	assert.Zero(t, w.runtime.called("exec"), "the runtime tells the environment")

	w.runtime.start("uid-1", "main", "B", 0xfe, 1, a)
	w.change("web", func(p *corev1.Pod) { runs(p, "main", "B") })
	w.entry("web", "main", func(c *containerreport.Container) bool {
		return c.ContainerID == "test://B" && c.RestartCount == 1 && c.Hashes.PlainHash == 0xfe
	})
	w.change("web", func(p *corev1.Pod) { p.Status.Message = "something else" })
	w.quiet(w.patches, 2, "only what differs is written")
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
		"of a CloneSet":   {func(*corev1.Pod) {}, true},
		"of a Deployment": {func(p *corev1.Pod) { p.OwnerReferences = owned("apps/v1") }, false},
		"of nobody":       {func(p *corev1.Pod) { p.OwnerReferences = nil }, false},
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
	w := run(t, newPod("web", "main", "side"))
	w.runtime.start("uid-1", "side", "S", 2, 0, a)
	w.runtime.start("uid-1", "main", "M", 1, 0, a)
	w.change("web", func(p *corev1.Pod) {
		runs(p, "side", "S")
		runs(p, "main", "M")
	})
	w.entry("web", "main", func(c *containerreport.Container) bool { return c.ContainerID == "test://M" && c.Hashes.PlainHash == 1 })
	w.entry("web", "side", func(c *containerreport.Container) bool { return c.ContainerID == "test://S" && c.Hashes.PlainHash == 2 })
}

// Case node-agent 13.
func TestMetadataOfAHeldPodRestartsItsContainerOnce(t *testing.T) {
	w := run(t, newPod("web", "main"))
	w.runtime.start("uid-1", "main", "A", 1, 0, a)
	w.change("web", func(p *corev1.Pod) { runs(p, "main", "A") })
	w.entry("web", "main", id("A"))

	w.change("web", func(p *corev1.Pod) {
		hold(p, corev1.ConditionFalse)
		p.Labels["v"] = "b"
	})
	require.Eventually(t, func() bool { return w.runtime.called("stop A") == 1 }, 10*time.Second, 5*time.Millisecond)
	assert.Equal(t, 1, w.runtime.called("exec bye A"), "its hook runs")
	assert.Equal(t, 1, w.runtime.called("stop A 29")+w.runtime.called("stop A 30"), "in its grace period: %v", w.runtime.calls)
	assert.Equal(t, "Normal Killing Stopping containerID test://A by container meta restarter", <-w.events.Events)

	w.runtime.start("uid-1", "main", "B", 1, 1, b)
	w.change("web", func(p *corev1.Pod) { runs(p, "main", "B") })
	w.entry("web", "main", func(c *containerreport.Container) bool {
		pod := w.pod("web")
		return c.ContainerID == "test://B" &&
			c.Hashes.ExtractedEnvFromMetadataHash == containerreport.Expected(containerreport.VariablesOf(&pod.Spec.Containers[0]), pod.Labels, nil)
	})
	w.quiet(func() int { return w.runtime.called("stop") }, 1, "no further one")
}

// Case node-agent 14.
func TestNothingRestartsWhileThePodServes(t *testing.T) {
	for _, status := range []corev1.ConditionStatus{corev1.ConditionTrue, ""} {
		t.Run(string(status), func(t *testing.T) {
			w := run(t, newPod("web", "main"))
			w.runtime.start("uid-1", "main", "A", 1, 0, a)
			w.change("web", func(p *corev1.Pod) { runs(p, "main", "A") })
			w.entry("web", "main", id("A"))
			w.change("web", func(p *corev1.Pod) {
				hold(p, status)
				p.Labels["v"] = "b"
			})
			w.quiet(func() int { return w.runtime.called("stop") }, 0, "it serves")
		})
	}
}

func TestTheKubeletReplacesWhatHasANewImage(t *testing.T) {
	w := run(t, newPod("web", "main", "side"))
	for _, name := range []string{"main", "side"} {
		w.runtime.start("uid-1", name, name, 1, 0, a)
	}
	w.change("web", func(p *corev1.Pod) {
		runs(p, "main", "main")
		runs(p, "side", "side")
	})
	w.entry("web", "side", id("side"))
	w.change("web", func(p *corev1.Pod) {
		hold(p, corev1.ConditionFalse)
		p.Labels["v"], p.Spec.Containers[0].Image = "b", "app:2"
		p.Annotations[pub.InPlaceUpdateStateKey] = `{"lastContainerStatuses":{"main":{"containerID":"test://main","image":"app:1"},
			"side":{"containerID":"test://side","image":"app:1"}}}`
	})
	require.Eventually(t, func() bool { return w.runtime.called("stop side") == 1 }, 10*time.Second, 5*time.Millisecond)
	w.quiet(func() int { return w.runtime.called("stop main") }, 0, "the kubelet ends it")
}

// Case node-agent 15.
func TestEnvironmentOfARuntimeThatDoesNotTell(t *testing.T) {
	w := run(t, newPod("web", "main"))
	w.runtime.details, w.runtime.failExecs = false, 2
	w.runtime.start("uid-1", "main", "A", 1, 0, map[string]string{"V": "stale"})
	w.change("web", func(p *corev1.Pod) {
		hold(p, corev1.ConditionFalse)
		runs(p, "main", "A")
	})
	w.entry("web", "main", func(c *containerreport.Container) bool { return c.Hashes.ExtractedEnvFromMetadataHash == 0 })
	assert.Zero(t, w.runtime.called("stop"), "no restart before the environment is known")
	w.entry("web", "main", func(c *containerreport.Container) bool { return c.Hashes.ExtractedEnvFromMetadataHash != 0 })
	assert.Equal(t, 3, w.runtime.called("exec env A"))
	require.Eventually(t, func() bool { return w.runtime.called("stop A") == 1 }, 10*time.Second, 5*time.Millisecond)
}

// Cases node-agent 16, 17.
func TestContainersThatReadNoMetadataAreNotRestarted(t *testing.T) {
	pod := newPod("web", "main")
	pod.Spec.Containers[0].Env[0].Name = pub.SidecarSetVersionEnv
	w := run(t, pod)
	w.runtime.details = false
	w.runtime.start("uid-1", "main", "A", 1, 0, a)
	w.change("web", func(p *corev1.Pod) {
		runs(p, "main", "A")
		hold(p, corev1.ConditionFalse)
	})
	w.entry("web", "main", func(c *containerreport.Container) bool {
		return c.Hashes.ExtractedEnvFromMetadataHash == containerreport.Expected(nil, nil, nil)
	})
	w.change("web", func(p *corev1.Pod) { p.Labels["v"] = "b" })
	w.quiet(func() int { return w.runtime.called("exec") + w.runtime.called("stop") }, 0, "nothing is asked or ended")
}

// Case node-agent 18.
func TestAnAgentThatComesLaterWritesNothing(t *testing.T) {
	var pods []*corev1.Pod
	for i := range 90 { // The fake watch buffers at most 100 events.
		pod := newPod(fmt.Sprintf("web-%d", i), "main")
		runs(pod, "main", "A")
		pods = append(pods, pod)
	}
	reported := newPod("reported", "main")
	reported.Annotations = map[string]string{pub.RuntimeContainerMetaKey: `{"containers":[{"name":"main","containerID":"test://old"}]}`}
	runs(reported, "main", "A")
	w := newWorld(t, append(pods, reported)...)
	w.runtime.start("uid-1", "main", "A", 1, 0, a)
	w.start()
	w.entry("reported", "main", id("A"))
	w.quiet(w.patches, 1, "a report that is wrong is corrected, and nothing else")
	w.change("web-7", func(p *corev1.Pod) { p.Labels["v"] = "b" })
	w.entry("web-7", "main", id("A"))
}

// An in-place update holds the Pod until the agent reports. So the agent reports on it even if it has not changed
// since the agent started.
func TestAHeldPodIsReportedAtStart(t *testing.T) {
	pod := newPod("web", "main")
	runs(pod, "main", "A")
	hold(pod, corev1.ConditionFalse)
	w := newWorld(t, pod)
	w.runtime.start("uid-1", "main", "A", 1, 0, b)
	w.start()
	require.Eventually(t, func() bool { return w.runtime.called("stop A") == 1 }, 10*time.Second, 5*time.Millisecond)
}

func TestTheWatchIsOfTheNodeAlone(t *testing.T) {
	w := run(t)
	require.NotEmpty(t, w.client.Actions())
	for _, action := range w.client.Actions() {
		if watch, ok := action.(clienttesting.WatchAction); ok {
			assert.Equal(t, "spec.nodeName=node", watch.GetWatchRestrictions().Fields.String())
		}
		assert.Contains(t, []string{"list", "watch"}, action.GetVerb())
	}
}
