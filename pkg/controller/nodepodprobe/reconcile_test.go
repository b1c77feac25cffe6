package nodepodprobe

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/podstate"
)

type world struct {
	*controllertest.Fixture
	t *testing.T
	r *Reconciler
}

func newWorld(t *testing.T, objects ...runtime.Object) *world {
	t.Helper()
	f := controllertest.New(t, "", objects...)
	r, c := build(f.Deps)
	f.Control(c)
	return &world{f, t, r}
}

func (w *world) settle() []string { return w.Converge("", "n1") }

// object returns the NodePodProbe, or nil.
func (w *world) object() *v1alpha1.NodePodProbe {
	w.t.Helper()
	list, err := w.Kruise.AppsV1alpha1().NodePodProbes().List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	w.Kruise.ClearActions()
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

// lists returns the probes in the NodePodProbe, as "<Pod UID> <probe>".
func (w *world) lists() (probes []string) {
	w.t.Helper()
	for _, entry := range w.object().Spec.PodProbes {
		for _, probe := range entry.Probes {
			probes = append(probes, entry.UID+" "+probe.Name)
		}
	}
	return probes
}

func (w *world) pod(namespace, name string) *corev1.Pod {
	w.t.Helper()
	for _, pod := range w.Pods() {
		if pod.Namespace == namespace && pod.Name == name {
			return pod
		}
	}
	return nil
}

// says writes the status as the agent of the node does.
func (w *world) says(statuses ...v1alpha1.PodProbeStatus) {
	w.t.Helper()
	object := w.object()
	object.Status.PodProbeStatuses = statuses
	w.Update(object)
}

func status(namespace, pod, uid string, states ...v1alpha1.ContainerProbeState) v1alpha1.PodProbeStatus {
	return v1alpha1.PodProbeStatus{Namespace: namespace, Name: pod, UID: uid, ProbeStates: states}
}

func state(name string, state v1alpha1.ProbeState) v1alpha1.ContainerProbeState {
	return v1alpha1.ContainerProbeState{Name: name, State: state, Message: "text", LastTransitionTime: metav1.NewTime(controllertest.Now)}
}

func node(name string, edits ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
	}}}
	for _, edit := range edits {
		edit(n)
	}
	return n
}

func virtual(n *corev1.Node)  { n.Labels = map[string]string{"type": "virtual-kubelet"} }
func notReady(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }
func deleting(n *corev1.Node) {
	n.DeletionTimestamp, n.Finalizers = &metav1.Time{Time: controllertest.Now}, []string{"a/b"}
}

// newPod returns an initialized Pod with the label app=web on the node n1. Its UID is uid-<name>.
func newPod(name string, edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "main"}, {Name: "side"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", Conditions: []corev1.PodCondition{
			{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
		}},
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

// newMarker returns a PodProbeMarker for Pods with the label app=web. Each of its probes writes the condition c/<probe>, and sets the
// label <probe> while it succeeds.
func newMarker(name string, probes ...string) *v1alpha1.PodProbeMarker {
	marker := &v1alpha1.PodProbeMarker{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Generation: 1}}
	marker.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	for _, probe := range probes {
		one := v1alpha1.PodContainerProbe{Name: probe, ContainerName: "main", PodConditionType: "c/" + probe}
		one.Probe.Exec = &corev1.ExecAction{Command: []string{"check"}}
		one.MarkerPolicy = []v1alpha1.ProbeMarkerPolicy{{State: v1alpha1.ProbeSucceeded, Labels: map[string]string{probe: "1"}}}
		marker.Spec.Probes = append(marker.Spec.Probes, one)
	}
	return marker
}

// Case podprobemarker 18.
func TestNodePodProbesComeAndGoWithTheirNodes(t *testing.T) {
	existing := &v1alpha1.NodePodProbe{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	tests := map[string]struct {
		node   *corev1.Node
		exists bool
		want   bool
	}{
		"ready":                   {node("n1"), false, true},
		"not ready":               {node("n1", notReady), false, false},
		"no longer ready":         {node("n1", notReady), true, true},
		"being deleted":           {node("n1", deleting), false, false},
		"deletion began":          {node("n1", deleting), true, false},
		"gone":                    {nil, true, false},
		"virtual":                 {node("n1", virtual), false, false},
		"it has become virtual":   {node("n1", virtual), true, false},
		"no node and none before": {nil, false, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var objects []runtime.Object
			if tc.node != nil {
				objects = append(objects, tc.node)
			}
			if tc.exists {
				objects = append(objects, existing.DeepCopy())
			}
			w := newWorld(t, objects...)
			w.settle()
			assert.Equal(t, tc.want, w.object() != nil)
		})
	}
}

// Cases podprobemarker 1, 10, 14, 15, 29.
func TestSpecListsThePodsOfTheNode(t *testing.T) {
	w := newWorld(t, node("n1"), newMarker("m", "p"), newPod("web"), newPod("other", func(p *corev1.Pod) { p.Spec.NodeName = "n2" }),
		newPod("late", func(p *corev1.Pod) { p.Status.Conditions = nil }), newPod("waits", func(p *corev1.Pod) { p.Spec.NodeName = "" }),
		newPod("alone", func(p *corev1.Pod) { p.Labels = nil }), newPod("done", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }))
	w.settle()
	assert.Equal(t, []string{"uid-web m#p"}, w.lists())
	assert.Equal(t, "10.0.0.1", w.object().Spec.PodProbes[0].IP)
	assert.Empty(t, w.settle())

	w.Update(newPod("late"))
	w.settle()
	assert.Equal(t, []string{"uid-late m#p", "uid-web m#p"}, w.lists(), "it is listed as soon as it is initialized")

	w.Update(newPod("late", func(p *corev1.Pod) { p.Labels = map[string]string{"app": "db"} }))
	w.Update(newPod("web", func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.2" }))
	w.settle()
	assert.Equal(t, []string{"uid-web m#p"}, w.lists())
	assert.Equal(t, "10.0.0.2", w.object().Spec.PodProbes[0].IP)

	w.Update(newPod("web", func(p *corev1.Pod) { p.UID = "uid-new" }))
	w.settle()
	assert.Equal(t, []string{"uid-new m#p"}, w.lists())

	w.Update(newPod("web", func(p *corev1.Pod) {
		p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: controllertest.Now}, []string{"a/b"}
	}))
	w.settle()
	assert.Empty(t, w.lists(), "a Pod that terminates is not probed")
}

// Cases podprobemarker 5, 6, 9.
func TestSpecFollowsThePodProbeMarkers(t *testing.T) {
	other := newMarker("foo", "p")
	other.Namespace, other.UID = "other", "uid-elsewhere"
	w := newWorld(t, node("n1"), newMarker("foo", "p", "q"), newMarker("bar-foo", "r"), other, newPod("web"),
		newPod("web", func(p *corev1.Pod) { p.Namespace, p.UID = "other", "uid-other" }))
	w.settle()
	assert.Equal(t, []string{"uid-web bar-foo#r", "uid-web foo#p", "uid-web foo#q", "uid-other foo#p"}, w.lists())

	w.Update(newMarker("foo", "q"))
	w.settle()
	assert.Equal(t, []string{"uid-web bar-foo#r", "uid-web foo#q", "uid-other foo#p"}, w.lists())

	gone := newMarker("foo", "q")
	gone.DeletionTimestamp, gone.Finalizers = &metav1.Time{Time: controllertest.Now}, []string{"a/b"}
	w.Update(gone)
	w.settle()
	assert.Equal(t, []string{"uid-web bar-foo#r", "uid-other foo#p"}, w.lists())
}

// Cases podprobemarker 1, 23, 28.
func TestResultsMarkThePodInOneWrite(t *testing.T) {
	w := newWorld(t, node("n1"), newMarker("m", "p"), newPod("web"))
	w.settle()
	w.says(status("ns", "web", "uid-web", state("m#p", v1alpha1.ProbeSucceeded)))
	assert.Equal(t, []string{"patch pods/status web"}, w.settle())
	pod := w.pod("ns", "web")
	assert.Equal(t, "1", pod.Labels["p"])
	assert.Equal(t, "web", pod.Labels["app"])
	require.Len(t, pod.Status.Conditions, 2)
	assert.Equal(t, corev1.ConditionTrue, podstate.Condition(pod, "c/p").Status)
	assert.Equal(t, "text", podstate.Condition(pod, "c/p").Message)

	w.says(status("ns", "web", "uid-web", state("m#p", v1alpha1.ProbeFailed)))
	assert.Equal(t, []string{"patch pods/status web"}, w.settle())
	assert.NotContains(t, w.pod("ns", "web").Labels, "p")
	assert.Equal(t, corev1.ConditionFalse, podstate.Condition(w.pod("ns", "web"), "c/p").Status)
	assert.Len(t, w.pod("ns", "web").Status.Conditions, 2)
}

// A node is not believed about Pods of other nodes, about other probes, or about Pods that were replaced.
func TestNodesAreBelievedAboutTheirOwnPodsAlone(t *testing.T) {
	elsewhere := func(p *corev1.Pod) { p.Spec.NodeName = "n2" }
	w := newWorld(t, node("n1"), newMarker("m", "p"), newPod("web"), newPod("other", elsewhere))
	w.settle()
	w.says(
		status("ns", "other", "uid-other", state("m#p", v1alpha1.ProbeSucceeded)),
		status("ns", "web", "uid-web", state("m#q", v1alpha1.ProbeSucceeded), state("n#p", v1alpha1.ProbeSucceeded)),
		status("ns", "web", "uid-older", state("m#p", v1alpha1.ProbeSucceeded)),
	)
	assert.Empty(t, w.settle())
	object := w.object()
	object.Spec.PodProbes = append(object.Spec.PodProbes, v1alpha1.PodProbe{
		Namespace: "ns", Name: "other", UID: "uid-other", Probes: []v1alpha1.ContainerProbe{{Name: "m#p"}},
	})
	w.Update(object)
	assert.Equal(t, []string{"patch nodepodprobes n1"}, w.settle(), "not even if its spec lists the Pod")
}

// newMarkedWorld returns a world in which the probe of Pod web has succeeded, and the Pod has its marks.
func newMarkedWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, node("n1"), newMarker("m", "p"), newPod("web"))
	w.settle()
	w.says(status("ns", "web", "uid-web", state("m#p", v1alpha1.ProbeSucceeded)))
	w.settle()
	return w
}

func TestConditionThatAnotherClientRemovesReturns(t *testing.T) {
	w := newMarkedWorld(t)
	marked := w.pod("ns", "web")
	with := func(conditions ...corev1.PodCondition) *corev1.Pod {
		pod := marked.DeepCopy()
		pod.Status.Conditions = conditions
		return pod
	}
	initialized, own := *podstate.Condition(marked, corev1.PodInitialized), *podstate.Condition(marked, "c/p")
	failed := own
	failed.Status = corev1.ConditionFalse
	key := []types.NamespacedName{{Name: "n1"}}
	assert.Contains(t, w.r.changedPod(marked, with(initialized)), key[0])
	assert.Contains(t, w.r.changedPod(marked, with(initialized, failed)), key[0])
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
	assert.Empty(t, w.r.changedPod(marked, with(initialized, own, ready)), "a condition of the kubelet")

	w.Update(with(initialized))
	assert.Equal(t, []string{"patch pods/status web"}, w.settle())
	assert.Equal(t, corev1.ConditionTrue, podstate.Condition(w.pod("ns", "web"), "c/p").Status)
}

// Case podprobemarker 30.
func TestMarksStayAfterThePodProbeMarker(t *testing.T) {
	w := newMarkedWorld(t)
	before := w.pod("ns", "web")
	require.NoError(t, w.Kruise.Tracker().Delete(v1alpha1.SchemeGroupVersion.WithResource("podprobemarkers"), "ns", "m"))
	w.settle()
	assert.Empty(t, w.lists())
	assert.Equal(t, before, w.pod("ns", "web"))
}

// The failure to mark one Pod is retried, and does not keep other Pods from their marks.
func TestFailureOfOnePod(t *testing.T) {
	w := newWorld(t, node("n1"), newMarker("m", "p"), newPod("a"), newPod("b"))
	w.settle()
	w.says(status("ns", "a", "uid-a", state("m#p", v1alpha1.ProbeSucceeded)), status("ns", "b", "uid-b", state("m#p", v1alpha1.ProbeSucceeded)))
	w.Kube.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch, ok := action.(clienttesting.PatchAction)
		return ok && patch.GetName() == "a", nil, errors.New("refused")
	})
	w.Observe()
	_, err := w.Pass("", "n1")
	require.ErrorContains(t, err, "ns/a: refused")
	assert.Equal(t, "1", w.pod("ns", "b").Labels["p"])
}

func TestProbesThatDoNotFitAreReported(t *testing.T) {
	big := newMarker("big")
	for i := range 60 {
		one := v1alpha1.PodContainerProbe{Name: fmt.Sprint("p", i), ContainerName: "main", PodConditionType: fmt.Sprint("c", i)}
		one.Probe.Exec = &corev1.ExecAction{Command: []string{strings.Repeat("x", 10000)}}
		big.Spec.Probes = append(big.Spec.Probes, one)
	}
	w := newWorld(t, node("n1"), big, newMarker("m", "p"), newPod("big"))
	w.settle()
	assert.Less(t, w.object().Size(), 1<<20)
	events := w.Events()
	require.NotEmpty(t, events)
	assert.Contains(t, events[0], "Warning ProbesLeftOut Node n1 has no room for some probes of Pod big")
	assert.Empty(t, w.settle())
}

// Pods that no PodProbeMarker concerns cause no pass.
func TestOnlyConcernedChangesCauseAPass(t *testing.T) {
	w := newWorld(t, node("n1"), newMarker("m", "p"), newPod("web"))
	w.settle()
	key := []types.NamespacedName{{Name: "n1"}}
	same := newPod("web")
	same.Status.Conditions = append(same.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady})
	stranger := newPod("db", func(p *corev1.Pod) { p.Labels = map[string]string{"app": "db"} })
	assert.Equal(t, key, w.r.changedPod(nil, newPod("web")))
	assert.Empty(t, w.r.changedPod(newPod("web"), same))
	assert.Empty(t, w.r.changedPod(nil, stranger))
	assert.Empty(t, w.r.changedPod(stranger, newPod("db", func(p *corev1.Pod) { p.Labels = nil })))
	assert.Contains(t, w.r.changedPod(newPod("web"), newPod("web", func(p *corev1.Pod) { p.Labels = nil })), key[0])
	assert.Contains(t, w.r.changedPod(newPod("web"), nil), key[0])

	labelled := newMarker("m", "p")
	labelled.Labels = map[string]string{"x": "y"}
	assert.Empty(t, w.r.changedMarker(newMarker("m", "p"), labelled))
	assert.Contains(t, w.r.changedMarker(nil, newMarker("m", "p")), key[0])
	assert.Contains(t, w.r.changedMarker(newMarker("m", "p"), nil), key[0])

	beat := node("n1")
	beat.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(controllertest.Now.Add(time.Minute))
	assert.False(t, nodeChanged(node("n1"), beat))
	assert.True(t, nodeChanged(node("n1", notReady), node("n1")))
	assert.True(t, nodeChanged(node("n1"), node("n1", virtual)))
}
