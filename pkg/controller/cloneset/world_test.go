package cloneset

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/consistency"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
)

var pods, claims = engine.PodResource.GroupResource(), engine.ClaimResource.GroupResource()

// newSet returns a CloneSet named web with the server's defaults.
func newSet(replicas int32, edits ...func(*v1beta1.CloneSetSpec)) *v1beta1.CloneSet {
	set := &v1beta1.CloneSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns", UID: "set", Generation: 1},
		Spec: v1beta1.CloneSetSpec{
			Replicas: new(replicas), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "app:1"}}},
			},
			UpdateStrategy: v1beta1.CloneSetUpdateStrategy{
				Type: v1beta1.RollingUpdateCloneSetStrategyType,
				RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{
					PodUpdatePolicy: pub.ReCreatePodUpdatePolicy, MaxUnavailable: new(intstr.FromString("20%")),
				},
			},
			RevisionHistoryLimit: ptr.To[int32](10),
		},
	}
	for _, edit := range edits {
		edit(&set.Spec)
	}
	return set
}

func image(text string) func(*v1beta1.CloneSetSpec) {
	return func(s *v1beta1.CloneSetSpec) { s.Template.Spec.Containers[0].Image = text }
}

func policy(p pub.PodUpdatePolicyType) func(*v1beta1.CloneSetSpec) {
	return func(s *v1beta1.CloneSetSpec) { s.UpdateStrategy.RollingUpdate.PodUpdatePolicy = p }
}

func knobs(partition, maxUnavailable, maxSurge string) func(*v1beta1.CloneSetSpec) {
	return func(s *v1beta1.CloneSetSpec) {
		r := s.UpdateStrategy.RollingUpdate
		r.Partition, r.MaxUnavailable, r.MaxSurge = value(partition), value(maxUnavailable), value(maxSurge)
	}
}

func value(text string) *intstr.IntOrString {
	if text == "" {
		return nil
	}
	return new(intstr.Parse(text))
}

var inPlaceIfPossible = policy(pub.InPlaceIfPossiblePodUpdatePolicy)

// world is a fixture with a reconciler and a node.
type world struct {
	*controllertest.Fixture
	t     *testing.T
	r     *Reconciler
	guard *consistency.Guard
	node  *controllertest.Node
	// most and least are the extremes since the last edit: the largest number of Pods, and the smallest number of available Pods.
	most, least int
}

func newWorld(t *testing.T, gates string, objects ...runtime.Object) *world {
	t.Helper()
	f := controllertest.New(t, gates, objects...)
	r, of := build(f.Deps, Options{})
	f.Control(of)
	return &world{Fixture: f, t: t, r: r, guard: of.Guard(), node: &controllertest.Node{Now: controllertest.Now}}
}

// reconcile runs one reconcile of a CloneSet with the caches as they are.
func (w *world) reconcile(name string) (reconcile.Result, error) { return w.Pass("ns", name) }

// step brings the caches up to date and runs one reconcile.
func (w *world) step() (requeue time.Duration) { return w.Step("ns", "web") }

// kubelet lets every node carry out the specs of its Pods. The garbage collector then acts on the result.
func (w *world) kubelet() {
	w.collect()
	for _, pod := range w.Pods() {
		after := pod.DeepCopy()
		w.node.Run(after)
		w.Update(after)
	}
	w.watchBounds()
}

// collect deletes the claims whose Pod is deleted.
func (w *world) collect() {
	w.t.Helper()
	alive := map[types.UID]bool{}
	for _, pod := range w.Pods() {
		alive[pod.UID] = true
	}
	resource := corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	list, err := w.Kube.Tracker().List(resource, corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), "ns")
	require.NoError(w.t, err)
	for _, claim := range list.(*corev1.PersistentVolumeClaimList).Items {
		if ref := metav1.GetControllerOf(&claim); ref != nil && ref.Kind == "Pod" && !alive[ref.UID] {
			require.NoError(w.t, w.Kube.Tracker().Delete(resource, "ns", claim.Name))
		}
	}
}

func (w *world) watchBounds() {
	available := 0
	for _, pod := range w.Pods() {
		if c := controllertest.ConditionOf(pod, corev1.PodReady); c != nil && c.Status == corev1.ConditionTrue {
			available++
		}
	}
	w.most = max(w.most, len(w.Pods()))
	w.least = min(w.least, available)
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

func (w *world) set() *v1beta1.CloneSet {
	w.t.Helper()
	set, err := w.Kruise.AppsV1beta1().CloneSets("ns").Get(w.t.Context(), "web", metav1.GetOptions{})
	require.NoError(w.t, err)
	w.Kruise.ClearActions()
	return set
}

// edit changes the spec as a user does, and resets the watched extremes.
func (w *world) edit(edits ...func(*v1beta1.CloneSetSpec)) {
	w.t.Helper()
	set := w.set()
	for _, edit := range edits {
		edit(&set.Spec)
	}
	set.Generation++
	w.Update(set)
	w.most, w.least = len(w.Pods()), len(w.Pods())
}

// rolled returns a world in which a CloneSet has all its Pods.
func rolled(t *testing.T, gates string, set *v1beta1.CloneSet) *world {
	t.Helper()
	w := newWorld(t, gates, set)
	w.settle()
	w.Events()
	w.most, w.least = len(w.Pods()), len(w.Pods())
	return w
}

// images counts the Pods by the image of their first container.
func (w *world) images() map[string]int {
	counts := map[string]int{}
	for _, pod := range w.Pods() {
		counts[pod.Spec.Containers[0].Image]++
	}
	return counts
}

func (w *world) names() (names []string) {
	for _, pod := range w.Pods() {
		names = append(names, pod.Name)
	}
	return names
}

// change writes to a Pod as a user does.
func (w *world) change(name string, edit func(*corev1.Pod)) {
	w.t.Helper()
	for _, pod := range w.Pods() {
		if pod.Name == name {
			after := pod.DeepCopy()
			edit(after)
			w.Update(after)
			return
		}
	}
	require.Failf(w.t, "no such Pod", "%s", name)
}

// lose deletes a Pod as a user does.
func (w *world) lose(name string) {
	w.t.Helper()
	require.NoError(w.t, w.Kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "ns", name), fmt.Sprintf("delete %s", name))
}

// plan returns the plan of the next pass.
func (w *world) plan() *engine.Plan {
	w.t.Helper()
	w.Observe()
	set := w.set()
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	require.NoError(w.t, err)
	target, err := w.r.settings.target(set, selector)
	require.NoError(w.t, err)
	view, err := w.r.engine.Observe(target)
	require.NoError(w.t, err)
	return newPlanner(view, set, w.r.settings, w.r.nodeLabels).plan()
}
