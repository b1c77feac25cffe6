package daemonset

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller/consistency"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/nodefit"
)

type edit = func(*v1beta1.DaemonSetSpec)

// newSet returns a DaemonSet named web with the server's defaults.
func newSet(edits ...edit) *v1beta1.DaemonSet {
	set := &v1beta1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps.kruise.io/v1beta1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns", UID: "set", Generation: 1},
		Spec: v1beta1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "app:1"}}},
			},
			BurstReplicas: new(intstr.FromInt32(250)), RevisionHistoryLimit: ptr.To[int32](10),
			UpdateStrategy: v1beta1.DaemonSetUpdateStrategy{
				Type: v1beta1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &v1beta1.RollingUpdateDaemonSet{
					RollingUpdateType: v1beta1.StandardRollingUpdateType, MaxUnavailable: new(intstr.FromInt32(1)),
					MaxSurge: new(intstr.FromInt32(0)), Paused: new(false),
				},
			},
		},
	}
	for _, edit := range edits {
		edit(&set.Spec)
	}
	return set
}

func image(text string) edit {
	return func(s *v1beta1.DaemonSetSpec) { s.Template.Spec.Containers[0].Image = text }
}

func env(value string) edit {
	return func(s *v1beta1.DaemonSetSpec) {
		s.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "ADDED", Value: value}}
	}
}

func rolling(change func(*v1beta1.RollingUpdateDaemonSet)) edit {
	return func(s *v1beta1.DaemonSetSpec) { change(s.UpdateStrategy.RollingUpdate) }
}

func partition(value string) edit {
	return rolling(func(r *v1beta1.RollingUpdateDaemonSet) { r.Partition = amount(value) })
}

func maxUnavailable(value string) edit {
	return rolling(func(r *v1beta1.RollingUpdateDaemonSet) { r.MaxUnavailable, r.MaxSurge = amount(value), amount("0") })
}

func maxSurge(value string) edit {
	return rolling(func(r *v1beta1.RollingUpdateDaemonSet) { r.MaxUnavailable, r.MaxSurge = amount("0"), amount(value) })
}

func inPlaceIfPossible(s *v1beta1.DaemonSetSpec) {
	s.UpdateStrategy.RollingUpdate.RollingUpdateType = v1beta1.InplaceRollingUpdateType
}

func paused(value bool) edit {
	return rolling(func(r *v1beta1.RollingUpdateDaemonSet) { r.Paused = &value })
}

func deleteOnly(s *v1beta1.DaemonSetSpec) {
	s.UpdateStrategy = v1beta1.DaemonSetUpdateStrategy{Type: v1beta1.OnDeleteDaemonSetStrategyType}
}

func selecting(key, value string) edit {
	return func(s *v1beta1.DaemonSetSpec) { s.Template.Spec.NodeSelector = map[string]string{key: value} }
}

func amount(text string) *intstr.IntOrString { return new(intstr.Parse(text)) }

// newNode returns a node with labels, given as key=value.
func newNode(name string, labels ...string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}}}
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		node.Labels[key] = value
	}
	return node
}

// nodes returns objects of nodes n1, n2 and so on.
func nodes(n int) (all []runtime.Object) {
	for i := range n {
		all = append(all, newNode("n"+string(rune('1'+i))))
	}
	return all
}

// world is a fixture with a reconciler, and the kubelets of all nodes.
type world struct {
	*controllertest.Fixture
	t     *testing.T
	r     *Reconciler
	guard *consistency.Guard
	node  *controllertest.Node
	// dead are nodes whose kubelet does not answer: Pods there neither start nor end.
	dead map[string]bool
	// most and least are the extremes since the last edit: the largest number of Pods, and the smallest number of ready Pods.
	most, least int
	recheck     time.Duration
}

func newWorld(t *testing.T, gates string, objects ...runtime.Object) *world {
	t.Helper()
	f := controllertest.New(t, gates, objects...)
	r, of := build(f.Deps, Options{})
	f.Control(of)
	return &world{Fixture: f, t: t, r: r, guard: of.Guard(), node: &controllertest.Node{Now: controllertest.Now}, dead: map[string]bool{}}
}

// rolled returns a world in which the DaemonSet has all its Pods.
func rolled(t *testing.T, gates string, set *v1beta1.DaemonSet, nodes []runtime.Object) *world {
	t.Helper()
	w := newWorld(t, gates, append(nodes, set)...)
	w.settle()
	w.Events()
	w.most, w.least = len(w.Pods()), len(w.Pods())
	return w
}

// step brings the caches up to date and runs one pass.
func (w *world) step() { w.recheck = w.Step("ns", "web") }

// kubelet lets the nodes carry out the specs of their Pods.
func (w *world) kubelet() {
	for _, pod := range w.Pods() {
		name := nodefit.NodeOf(pod)
		if w.dead[name] || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		after := pod.DeepCopy()
		after.Spec.NodeName = name
		w.node.Run(after)
		w.Update(after)
	}
	w.watchBounds()
}

func (w *world) watchBounds() {
	ready := 0
	for _, pod := range w.Pods() {
		c := controllertest.ConditionOf(pod, corev1.PodReady)
		ready += one(c != nil && c.Status == corev1.ConditionTrue)
	}
	w.most, w.least = max(w.most, len(w.Pods())), min(w.least, ready)
}

// settle reconciles until nothing more is written, and returns the writes.
func (w *world) settle() []string {
	w.t.Helper()
	first := true
	return w.Settle(func() {
		if !first {
			w.kubelet()
		}
		first = false
		w.step()
		w.watchBounds()
	})
}

func (w *world) set() *v1beta1.DaemonSet {
	w.t.Helper()
	set, err := w.Kruise.AppsV1beta1().DaemonSets("ns").Get(w.t.Context(), "web", metav1.GetOptions{})
	require.NoError(w.t, err)
	w.Kruise.ClearActions()
	return set
}

// edit changes the spec as a user does, and resets the watched extremes.
func (w *world) edit(edits ...edit) {
	w.t.Helper()
	set := w.set()
	for _, edit := range edits {
		edit(&set.Spec)
	}
	set.Generation++
	w.Update(set)
	w.most, w.least = len(w.Pods()), len(w.Pods())
}

// pass advances the clocks.
func (w *world) pass(d time.Duration) {
	w.Clock.SetTime(w.Clock.Now().Add(d))
	w.node.Now = w.Clock.Now()
}

// images returns the images of Pods by node, such as "n1:app:1", sorted.
func (w *world) images() (images []string) {
	for _, pod := range w.Pods() {
		images = append(images, nodefit.NodeOf(pod)+":"+pod.Spec.Containers[0].Image)
	}
	slices.Sort(images)
	return images
}

// on returns the only Pod of a node.
func (w *world) on(node string) *corev1.Pod {
	w.t.Helper()
	var found []*corev1.Pod
	for _, pod := range w.Pods() {
		if nodefit.NodeOf(pod) == node {
			found = append(found, pod)
		}
	}
	require.Len(w.t, found, 1, node)
	return found[0]
}

// places returns the nodes that have Pods, sorted.
func (w *world) nodesWithPods() (names []string) {
	for _, pod := range w.Pods() {
		names = append(names, nodefit.NodeOf(pod))
	}
	slices.Sort(names)
	return names
}

// changePod writes to a Pod as another client does.
func (w *world) changePod(pod *corev1.Pod, edit func(*corev1.Pod)) {
	w.t.Helper()
	after := pod.DeepCopy()
	edit(after)
	w.Update(after)
}

// changeNode writes to a node.
func (w *world) changeNode(name string, edit func(*corev1.Node)) {
	w.t.Helper()
	node, err := w.Kube.CoreV1().Nodes().Get(w.t.Context(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	w.Kube.ClearActions()
	edit(node)
	w.Update(node)
}

// lose deletes a Pod as a user does.
func (w *world) lose(pod *corev1.Pod) {
	w.t.Helper()
	require.NoError(w.t, w.Kube.Tracker().Delete(engine.PodResource, pod.Namespace, pod.Name))
}

func taint(effect corev1.TaintEffect) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Spec.Taints = []corev1.Taint{{Key: "k", Effect: effect}} }
}

func label(key, value string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Labels[key] = value }
}

// events returns the events that begin with a prefix.
func (w *world) eventsLike(prefix string) (found []string) {
	for _, event := range w.Events() {
		if strings.HasPrefix(event, prefix) {
			found = append(found, event)
		}
	}
	return found
}

func resourceOf(text string) resource.Quantity { return resource.MustParse(text) }

// refusePods makes the server refuse new Pods of nodes.
func refusePods(w *world, nodes ...string) {
	w.Kube.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		creation, ok := action.(clienttesting.CreateAction)
		require.True(w.t, ok)
		pod, ok := creation.GetObject().(*corev1.Pod)
		require.True(w.t, ok)
		if !slices.Contains(nodes, nodefit.NodeOf(pod)) {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(engine.PodResource.GroupResource(), "", errors.New("exceeded quota"))
	})
}

// lingers makes deleted Pods of nodes stay, as if their kubelets were lost.
func (w *world) lingers(nodes ...string) {
	for _, name := range nodes {
		w.dead[name] = true
	}
	w.Kube.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		deletion, ok := action.(clienttesting.DeleteAction)
		require.True(w.t, ok)
		for _, pod := range w.Pods() {
			if pod.Name == deletion.GetName() && w.dead[nodefit.NodeOf(pod)] {
				w.changePod(pod, func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: w.Clock.Now()} })
				return true, nil, nil
			}
		}
		return false, nil, nil
	})
}
