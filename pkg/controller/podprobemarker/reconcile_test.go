package podprobemarker

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

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/podprobe"
)

type world struct {
	*controllertest.Fixture
	t *testing.T
	r *Reconciler
}

func newWorld(t *testing.T, gates string, objects ...runtime.Object) *world {
	t.Helper()
	f := controllertest.New(t, gates, objects...)
	r, c := build(f.Deps)
	f.Control(c)
	return &world{f, t, r}
}

func (w *world) settle() []string { return w.Converge("ns", "m") }

func (w *world) marker() *v1alpha1.PodProbeMarker {
	w.t.Helper()
	marker, err := w.Kruise.AppsV1alpha1().PodProbeMarkers("ns").Get(w.t.Context(), "m", metav1.GetOptions{})
	require.NoError(w.t, err)
	w.Kruise.ClearActions()
	return marker
}

// lists writes the probes of Pods into a NodePodProbe, as its controller does.
func (w *world) lists(node string, pods ...*corev1.Pod) {
	w.t.Helper()
	object, err := w.Kruise.AppsV1alpha1().NodePodProbes().Get(w.t.Context(), node, metav1.GetOptions{})
	require.NoError(w.t, err)
	object.Spec.PodProbes = nil
	for _, pod := range pods {
		object.Spec.PodProbes = append(object.Spec.PodProbes, podprobe.Entry(pod, []*v1alpha1.PodProbeMarker{w.marker()}))
	}
	object.Generation++
	w.Update(object)
}

func node(name, kind string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"type": kind}}}
}

func probesOf(node string) *v1alpha1.NodePodProbe {
	return &v1alpha1.NodePodProbe{ObjectMeta: metav1.ObjectMeta{Name: node, UID: types.UID("uid-" + node), Generation: 1}}
}

// newPod returns an initialized Pod with the label app=web.
func newPod(name, node string, edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
		}},
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func newMarker(edits ...func(*v1alpha1.PodProbeMarker)) *v1alpha1.PodProbeMarker {
	marker := &v1alpha1.PodProbeMarker{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", UID: "uid-m", Generation: 1}}
	marker.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	one := v1alpha1.PodContainerProbe{Name: "p", ContainerName: "main", PodConditionType: "c"}
	one.Probe.Exec = &corev1.ExecAction{Command: []string{"check"}}
	one.MarkerPolicy = []v1alpha1.ProbeMarkerPolicy{{State: v1alpha1.ProbeSucceeded, Labels: map[string]string{"p": "1"}}}
	marker.Spec.Probes = []v1alpha1.PodContainerProbe{one}
	for _, edit := range edits {
		edit(marker)
	}
	return marker
}

func deletedAt(at time.Time) func(*v1alpha1.PodProbeMarker) {
	return func(m *v1alpha1.PodProbeMarker) {
		m.DeletionTimestamp, m.Finalizers, m.Status.ObservedGeneration = &metav1.Time{Time: at}, []string{"kruise.io/node-pod-probe-cleanup", "a/b"}, 1
	}
}

// Cases podprobemarker 1, 27.
func TestStatusOfAGenerationFollowsTheNodes(t *testing.T) {
	web, other := newPod("web", "n1"), newPod("other", "n2")
	w := newWorld(t, "", newMarker(), node("n1", ""), node("n2", ""), probesOf("n1"), web, other,
		newPod("nowhere", "n3"), newPod("done", "n1", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }))
	assert.Equal(t, []string{"patch podprobemarkers m", "update podprobemarkers/status m"}, w.settle())
	marker := w.marker()
	assert.Equal(t, []string{"kruise.io/node-pod-probe-cleanup"}, marker.Finalizers)
	assert.EqualValues(t, 2, marker.Status.MatchedPods)
	assert.Zero(t, marker.Status.ObservedGeneration, "n1 does not show the probes yet")

	w.lists("n1", web)
	w.settle()
	assert.EqualValues(t, 1, w.marker().Status.ObservedGeneration, "n2 gets the probes when it gets a NodePodProbe")

	marker = w.marker()
	marker.Generation, marker.Spec.Probes[0].Probe.PeriodSeconds = 2, 5
	w.Update(marker)
	w.settle()
	assert.EqualValues(t, 1, w.marker().Status.ObservedGeneration)
	w.lists("n1", web)
	w.settle()
	assert.EqualValues(t, 2, w.marker().Status.ObservedGeneration)
	assert.Empty(t, w.settle())
}

// A node without room for the probes does not delay the status without an end.
func TestStatusDoesNotWaitForAFullNode(t *testing.T) {
	full := probesOf("n1")
	for i := range 3000 {
		full.Spec.PodProbes = append(full.Spec.PodProbes, v1alpha1.PodProbe{
			Namespace: "a-namespace-with-a-long-name-of-its-own", Name: fmt.Sprint("a-pod-with-a-rather-long-name-", i), UID: fmt.Sprint(i),
		})
	}
	w := newWorld(t, "", newMarker(), node("n1", ""), full, newPod("web", "n1"))
	w.settle()
	assert.EqualValues(t, 1, w.marker().Status.ObservedGeneration)
}

// Cases podprobemarker 6, 30.
func TestFinalizerStaysWhileANodeHasProbes(t *testing.T) {
	gone := newMarker(deletedAt(controllertest.Now.Add(-time.Minute)))
	listed, namesakes := probesOf("n1"), probesOf("n2")
	listed.Spec.PodProbes = []v1alpha1.PodProbe{{Namespace: "ns", Name: "web", UID: "1", Probes: []v1alpha1.ContainerProbe{{Name: "m#p"}}}}
	namesakes.Spec.PodProbes = []v1alpha1.PodProbe{
		{Namespace: "ns", Name: "web", UID: "2", Probes: []v1alpha1.ContainerProbe{{Name: "other-m#p"}}},
		{Namespace: "other", Name: "web", UID: "3", Probes: []v1alpha1.ContainerProbe{{Name: "m#p"}}},
	}
	w := newWorld(t, "", gone, listed, namesakes)
	assert.Empty(t, w.settle())
	assert.Len(t, w.marker().Finalizers, 2)
	w.Update(probesOf("n1"))
	assert.Equal(t, []string{"patch podprobemarkers m"}, w.settle())
	assert.Equal(t, []string{"a/b"}, w.marker().Finalizers)
}

// A pass over a node that began before the deletion may still add the probes.
func TestFinalizerStaysUntilEarlierWritesHaveEnded(t *testing.T) {
	w := newWorld(t, "", newMarker(deletedAt(controllertest.Now)))
	assert.Equal(t, time.Second, w.Step("ns", "m"))
	assert.Len(t, w.marker().Finalizers, 2)
	w.Clock.SetTime(controllertest.Now.Add(time.Second))
	w.settle()
	assert.Len(t, w.marker().Finalizers, 1)
}

// Case podprobemarker 26.
func TestPodsOnVirtualNodesAreMarkedByTheirConditions(t *testing.T) {
	const gate = "EnablePodProbeMarkerOnServerless=true"
	condition := func(status corev1.ConditionStatus) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: "c", Status: status})
		}
	}
	named := func(p *corev1.Pod) {
		p.Labels, p.Annotations = nil, map[string]string{"kruise.io/podprobemarker-list": "gone,m"}
	}
	tests := map[string]struct {
		gates  string
		node   string
		edits  []func(*corev1.Pod)
		marked bool
		key    bool
	}{
		"success":                       {gate, "virtual-kubelet", []func(*corev1.Pod){condition(corev1.ConditionTrue)}, true, true},
		"failure":                       {gate, "virtual-kubelet", []func(*corev1.Pod){condition(corev1.ConditionFalse)}, false, true},
		"by its annotation":             {gate, "virtual-kubelet", []func(*corev1.Pod){condition(corev1.ConditionTrue), named}, true, true},
		"a node with an agent":          {gate, "", []func(*corev1.Pod){condition(corev1.ConditionTrue)}, false, false},
		"the gate is off":               {"", "virtual-kubelet", []func(*corev1.Pod){condition(corev1.ConditionTrue)}, false, false},
		"the conditions do not change":  {gate, "virtual-kubelet", nil, false, false},
		"no PodProbeMarker concerns it": {gate, "virtual-kubelet", []func(*corev1.Pod){condition(corev1.ConditionTrue), func(p *corev1.Pod) { p.Labels = nil }}, false, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := newPod("web", "n1"), newPod("web", "n1", tc.edits...)
			w := newWorld(t, tc.gates, newMarker(), node("n1", tc.node), after)
			w.Observe()
			key := types.NamespacedName{Namespace: "ns", Name: "pod/web"}
			if tc.key {
				assert.Contains(t, w.r.changedPod(before, after), key)
			} else {
				assert.NotContains(t, w.r.changedPod(before, after), key)
			}
			for range 3 {
				w.Step(key.Namespace, key.Name)
			}
			want := map[string]string{}
			if tc.marked {
				want = map[string]string{"p": "1"}
			}
			got := w.Pods()[0].Labels
			delete(got, "app")
			if tc.key {
				assert.Equal(t, len(want), len(got))
				assert.Equal(t, want["p"], got["p"])
			}
		})
	}
	w := newWorld(t, gate, newMarker(), node("n1", "virtual-kubelet"), newPod("web", "n1", condition(corev1.ConditionTrue)))
	refuse := true
	w.Kube.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return refuse, nil, apierrors.NewForbidden(corev1.Resource("pods"), "web", nil)
	})
	for range 3 {
		w.Observe()
		_, _ = w.Pass("ns", "m")
	}
	assert.EqualValues(t, 1, w.marker().Status.MatchedPods, "even if a mark is refused")
	refuse = false
	w.settle()
	assert.Equal(t, "1", w.Pods()[0].Labels["p"], "a PodProbeMarker that changes marks the Pods too")
	assert.EqualValues(t, 1, w.marker().Status.MatchedPods)
	assert.EqualValues(t, 1, w.marker().Status.ObservedGeneration)
}

// Case podprobemarker 26a.
// The provider does not run the probes of a PodProbeMarker that is newer than the Pod, so a condition of that type is not its result.
func TestLaterPodProbeMarkerDoesNotMarkPodsOnVirtualNodes(t *testing.T) {
	tests := map[string]struct {
		gates, node, list string
		matched           int64
		marked            bool
	}{
		"created with others":      {"EnablePodProbeMarkerOnServerless=true", "virtual-kubelet", "a,b", 0, false},
		"created with it too":      {"EnablePodProbeMarkerOnServerless=true", "virtual-kubelet", "a,m", 1, true},
		"a node with an agent":     {"EnablePodProbeMarkerOnServerless=true", "", "a,b", 1, false},
		"the provider has no gate": {"", "virtual-kubelet", "a,b", 1, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web", "n1", func(p *corev1.Pod) {
				p.Annotations = map[string]string{"kruise.io/podprobemarker-list": tc.list}
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: "c", Status: corev1.ConditionTrue})
			})
			w := newWorld(t, tc.gates, newMarker(), node("n1", tc.node), pod)
			w.settle()
			assert.Equal(t, tc.matched, w.marker().Status.MatchedPods)
			assert.Equal(t, tc.marked, w.Pods()[0].Labels["p"] == "1")
		})
	}
}

func TestOnlyConcernedChangesCauseAPass(t *testing.T) {
	w := newWorld(t, "", newMarker(), node("n1", ""))
	w.Observe()
	key := []types.NamespacedName{{Namespace: "ns", Name: "m"}}
	waits := newPod("web", "n1", func(p *corev1.Pod) { p.Status.Conditions = nil })
	ready := newPod("web", "n1", func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: "Ready"})
	})
	assert.Equal(t, key, w.r.changedPod(waits, newPod("web", "n1")))
	assert.Equal(t, key, w.r.changedPod(newPod("web", "n1"), nil))
	assert.Empty(t, w.r.changedPod(nil, waits))
	assert.Empty(t, w.r.changedPod(newPod("web", "n1"), ready))
	assert.Empty(t, w.r.changedPod(nil, newPod("db", "n1", func(p *corev1.Pod) { p.Labels = nil })))

	before, after := probesOf("n1"), probesOf("n1")
	after.Status.PodProbeStatuses = []v1alpha1.PodProbeStatus{{Name: "web"}}
	assert.Empty(t, changedProbes(before, after), "results concern no PodProbeMarker")
	after.Generation = 2
	after.Spec.PodProbes = []v1alpha1.PodProbe{
		podprobe.Entry(newPod("web", "n1"), []*v1alpha1.PodProbeMarker{newMarker()}), podprobe.Entry(newPod("db", "n1"), nil),
	}
	assert.Equal(t, key, changedProbes(before, after))
	assert.Equal(t, key, changedProbes(after, nil))
	assert.Empty(t, changedProbes(after, after))
}
