package statefulset

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/engine"
)

type edit = func(*v1beta1.StatefulSetSpec)

// newSet returns a StatefulSet named web with the server's defaults.
func newSet(replicas int32, edits ...edit) *v1beta1.StatefulSet {
	set := &v1beta1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps.kruise.io/v1beta1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns", UID: "set", Generation: 1},
		Spec: v1beta1.StatefulSetSpec{
			Replicas: new(replicas), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			ServiceName: "headless", PodManagementPolicy: appsv1.OrderedReadyPodManagement,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "app:1"}}},
			},
			UpdateStrategy:       v1beta1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType},
			RevisionHistoryLimit: ptr.To[int32](10),
		},
	}
	v1beta1.SetDefaults_StatefulSetSpec(&set.Spec)
	for _, edit := range edits {
		edit(&set.Spec)
	}
	return set
}

func image(text string) edit {
	return func(s *v1beta1.StatefulSetSpec) { s.Template.Spec.Containers[0].Image = text }
}

func replicas(n int32) edit { return func(s *v1beta1.StatefulSetSpec) { s.Replicas = &n } }

func partition(n int32) edit {
	return func(s *v1beta1.StatefulSetSpec) { s.UpdateStrategy.RollingUpdate.Partition = &n }
}

func parallel(s *v1beta1.StatefulSetSpec) { s.PodManagementPolicy = appsv1.ParallelPodManagement }

func maxUnavailable(text string) edit {
	return func(s *v1beta1.StatefulSetSpec) {
		s.UpdateStrategy.RollingUpdate.MaxUnavailable = new(intstr.Parse(text))
	}
}

func scaleLimit(text string) edit {
	return func(s *v1beta1.StatefulSetSpec) {
		s.ScaleStrategy = &v1beta1.StatefulSetScaleStrategy{MaxUnavailable: new(intstr.Parse(text))}
	}
}

func reserve(items ...string) edit {
	return func(s *v1beta1.StatefulSetSpec) {
		s.ReserveOrdinals = nil
		for _, item := range items {
			s.ReserveOrdinals = append(s.ReserveOrdinals, intstr.Parse(item))
		}
	}
}

func inPlace(s *v1beta1.StatefulSetSpec) {
	s.UpdateStrategy.RollingUpdate.PodUpdatePolicy = pub.InPlaceIfPossiblePodUpdatePolicy
	s.Template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: pub.InPlaceUpdateReadyConditionType}}
}

func useOnDelete(s *v1beta1.StatefulSetSpec) {
	s.UpdateStrategy = v1beta1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
}

// volume gives each Pod a claim.
func volume(name, size string) edit {
	return func(s *v1beta1.StatefulSetSpec) {
		s.VolumeClaimTemplates = append(s.VolumeClaimTemplates, corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new("standard"),
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
			},
		})
	}
}

func retention(whenScaled, whenDeleted v1beta1.PersistentVolumeClaimRetentionPolicyType) edit {
	return func(s *v1beta1.StatefulSetSpec) {
		s.PersistentVolumeClaimRetentionPolicy = &v1beta1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: whenDeleted, WhenScaled: whenScaled,
		}
	}
}

const (
	keep = v1beta1.RetainPersistentVolumeClaimRetentionPolicyType
	drop = v1beta1.DeletePersistentVolumeClaimRetentionPolicyType
)

func hooks(hooks pub.Lifecycle) edit {
	return func(s *v1beta1.StatefulSetSpec) { s.Lifecycle = &hooks }
}

// world is a fixture with a reconciler and a node.
type world struct {
	*controllertest.Fixture
	t    *testing.T
	r    *Reconciler
	node *controllertest.Node
	// ill are the Pods that their node never reports as ready.
	ill map[string]bool
	// least is the smallest number of ready Pods since the last edit.
	least int
}

func newWorld(t *testing.T, gates string, objects ...runtime.Object) *world {
	t.Helper()
	f := controllertest.New(t, gates, objects...)
	r, of := build(f.Deps)
	f.Control(of)
	return &world{Fixture: f, t: t, r: r, node: &controllertest.Node{Now: controllertest.Now}, ill: map[string]bool{}}
}

// step brings the caches up to date and runs one reconcile.
func (w *world) step() (requeue time.Duration) { return w.Step("ns", "web") }

// kubelet lets every node carry out the specs of its Pods. The garbage collector then acts on the result.
func (w *world) kubelet() {
	w.collect()
	for _, pod := range w.Pods() {
		if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		after := pod.DeepCopy()
		w.node.Run(after)
		if w.ill[pod.Name] {
			controllertest.SetConditionOf(after, corev1.PodReady, corev1.ConditionFalse, w.node.Now)
		}
		w.Update(after)
	}
	w.least = min(w.least, w.ready())
}

func (w *world) ready() (ready int) {
	for _, pod := range w.Pods() {
		if c := controllertest.ConditionOf(pod, corev1.PodReady); c != nil && c.Status == corev1.ConditionTrue {
			ready++
		}
	}
	return ready
}

// collect deletes the claims whose owners are all deleted.
func (w *world) collect() {
	w.t.Helper()
	alive := map[types.UID]bool{"set": true, "mine": true}
	for _, pod := range w.Pods() {
		alive[pod.UID] = true
	}
	for _, claim := range w.claims() {
		gone := func(ref metav1.OwnerReference) bool { return !alive[ref.UID] }
		if len(claim.OwnerReferences) > 0 && len(slices.DeleteFunc(slices.Clone(claim.OwnerReferences), gone)) == 0 {
			require.NoError(w.t, w.Kube.Tracker().Delete(engine.ClaimResource, "ns", claim.Name))
		}
	}
}

func (w *world) claims() (claims []corev1.PersistentVolumeClaim) {
	w.t.Helper()
	list, err := w.Kube.Tracker().List(engine.ClaimResource, corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), "ns")
	require.NoError(w.t, err)
	return list.(*corev1.PersistentVolumeClaimList).Items
}

func (w *world) claim(name string) *corev1.PersistentVolumeClaim {
	w.t.Helper()
	for _, claim := range w.claims() {
		if claim.Name == name {
			return &claim
		}
	}
	return nil
}

func (w *world) claimNames() (names []string) {
	for _, claim := range w.claims() {
		names = append(names, claim.Name)
	}
	slices.Sort(names)
	return names
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
	})
}

// attempt runs one reconcile that may fail.
func (w *world) attempt() error {
	w.Observe()
	_, err := w.Pass("ns", "web")
	return err
}

func (w *world) set() *v1beta1.StatefulSet {
	w.t.Helper()
	set, err := w.Kruise.AppsV1beta1().StatefulSets("ns").Get(w.t.Context(), "web", metav1.GetOptions{})
	require.NoError(w.t, err)
	w.Kruise.ClearActions()
	return set
}

// edit changes the spec as a user does.
func (w *world) edit(edits ...edit) {
	w.t.Helper()
	set := w.set()
	for _, edit := range edits {
		edit(&set.Spec)
	}
	set.Generation++
	w.Update(set)
	w.least = w.ready()
}

// rolled returns a world in which a StatefulSet has all its Pods.
func rolled(t *testing.T, gates string, set *v1beta1.StatefulSet) *world {
	t.Helper()
	w := newWorld(t, gates, set)
	w.settle()
	w.Events()
	w.Writes()
	w.least = w.ready()
	return w
}

// images returns the image of each Pod, by the Pod's name.
func (w *world) images() map[string]string {
	images := map[string]string{}
	for _, pod := range w.Pods() {
		images[pod.Name] = pod.Spec.Containers[0].Image
	}
	return images
}

func (w *world) names() (names []string) {
	for _, pod := range w.Pods() {
		names = append(names, pod.Name)
	}
	return names
}

func (w *world) pod(name string) *corev1.Pod {
	for _, pod := range w.Pods() {
		if pod.Name == name {
			return pod
		}
	}
	return nil
}

func (w *world) uids() map[string]types.UID {
	uids := map[string]types.UID{}
	for _, pod := range w.Pods() {
		uids[pod.Name] = pod.UID
	}
	return uids
}

// change writes to a Pod as a user does.
func (w *world) change(name string, edit func(*corev1.Pod)) {
	w.t.Helper()
	pod := w.pod(name)
	require.NotNil(w.t, pod, "no Pod %s", name)
	after := pod.DeepCopy()
	edit(after)
	w.Update(after)
}

// lose deletes a Pod as a user does.
func (w *world) lose(name string) {
	w.t.Helper()
	require.NoError(w.t, w.Kube.Tracker().Delete(engine.PodResource, "ns", name), fmt.Sprintf("delete %s", name))
}

// terminate starts the deletion of a Pod that never ends.
func (w *world) terminate(name string) {
	w.change(name, func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: controllertest.Now} })
}

// pass lets time pass on the controller and on the nodes.
func (w *world) pass(d time.Duration) {
	w.Clock.SetTime(w.Clock.Now().Add(d))
	w.node.Now = w.Clock.Now()
}

func start(ordinal int32) edit {
	return func(s *v1beta1.StatefulSetSpec) { s.Ordinals = &v1beta1.StatefulSetOrdinals{Start: ordinal} }
}

func requests(cpu string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
}
