package sidecarset

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// world is a cluster with a SidecarSet and its Pods.
type world struct {
	*controllertest.Fixture
	t    *testing.T
	r    *Reconciler
	c    *reconcile.Controller
	node *controllertest.Node
}

func newWorld(t *testing.T, edits ...func(*v1beta1.SidecarSet)) *world {
	t.Helper()
	w := &world{Fixture: controllertest.New(t, ""), t: t}
	r, skeleton := build(w.Deps, Options{Namespace: controllertest.SystemNamespace})
	c, err := skeleton.Build()
	require.NoError(t, err)
	w.r, w.c, w.node = r, c, &controllertest.Node{Now: w.Clock.Now()}
	w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", Labels: map[string]string{"kubernetes.io/metadata.name": "ns"}}})
	set := &v1beta1.SidecarSet{
		ObjectMeta: metav1.ObjectMeta{Name: "logs", Generation: 1, ResourceVersion: "100", Labels: map[string]string{"team": "a"}},
		Spec: v1beta1.SidecarSetSpec{
			Selector:             &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Containers:           []v1beta1.SidecarContainer{{Container: corev1.Container{Name: "s", Image: "s:1"}}},
			RevisionHistoryLimit: new(int32(10)),
			UpdateStrategy: v1beta1.SidecarSetUpdateStrategy{
				Type: v1beta1.RollingUpdateSidecarSetStrategyType, Partition: new(intstr.FromInt32(0)), MaxUnavailable: new(intstr.FromInt32(1)),
			},
		},
	}
	for _, edit := range edits {
		edit(set)
	}
	hash(t, set)
	w.Add(set)
	return w
}

// hash writes the hashes as the API server does.
func hash(t *testing.T, set *v1beta1.SidecarSet) {
	t.Helper()
	full, withoutImage, err := set.Spec.Hashes()
	require.NoError(t, err)
	if set.Annotations == nil {
		set.Annotations = map[string]string{}
	}
	set.Annotations["kruise.io/sidecarset-hash"], set.Annotations["kruise.io/sidecarset-hash-without-image"] = full, withoutImage
}

func hot(set *v1beta1.SidecarSet) {
	set.Spec.Containers[0].UpgradeStrategy = v1beta1.SidecarContainerUpgradeStrategy{
		UpgradeType: v1beta1.SidecarContainerHotUpgrade, HotUpgradeEmptyImage: "empty:1",
	}
}

func notUpdate(set *v1beta1.SidecarSet) {
	set.Spec.UpdateStrategy.Type = v1beta1.NotUpdateSidecarSetStrategyType
}

func maxUnavailable(value intstr.IntOrString) func(*v1beta1.SidecarSet) {
	return func(set *v1beta1.SidecarSet) { set.Spec.UpdateStrategy.MaxUnavailable = &value }
}

func partition(value intstr.IntOrString) func(*v1beta1.SidecarSet) {
	return func(set *v1beta1.SidecarSet) { set.Spec.UpdateStrategy.Partition = &value }
}

func image(value string) func(*v1beta1.SidecarSet) {
	return func(set *v1beta1.SidecarSet) { set.Spec.Containers[0].Image = value }
}

// set returns the SidecarSet on the server.
func (w *world) set(name ...string) *v1beta1.SidecarSet {
	w.t.Helper()
	object, err := w.Kruise.Tracker().Get(resource, "", append(name, "logs")[0])
	require.NoError(w.t, err)
	return object.(*v1beta1.SidecarSet)
}

// edit changes the SidecarSet as a user does.
func (w *world) edit(edits ...func(*v1beta1.SidecarSet)) {
	w.t.Helper()
	set := w.set().DeepCopy()
	for _, edit := range edits {
		edit(set)
	}
	set.Generation++
	set.ResourceVersion = fmt.Sprint(100 * set.Generation)
	hash(w.t, set)
	w.Update(set)
}

// start creates Pods with the SidecarSet as it is, and lets them run.
func (w *world) start(n int, edits ...func(*corev1.Pod)) []*corev1.Pod {
	w.t.Helper()
	set, now := w.set(), metav1.NewTime(w.Clock.Now())
	full, withoutImage, err := sidecar.Hashes(set)
	require.NoError(w.t, err)
	var pods []*corev1.Pod
	existing := len(w.Pods())
	for i := range n {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("web-%02d", existing+i), Namespace: "ns", Generation: 1, Labels: map[string]string{"app": "web"},
				CreationTimestamp: now, Annotations: map[string]string{"kruise.io/sidecarset-injected-list": "logs"},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "app:1"}}},
		}
		for j := range set.Spec.Containers {
			container := &set.Spec.Containers[j]
			if !sidecar.Hot(container) {
				pod.Spec.Containers = append(pod.Spec.Containers, container.Container)
				continue
			}
			first, second := sidecar.Pair(container.Name)
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: first, Image: container.Image},
				corev1.Container{Name: second, Image: container.UpgradeStrategy.HotUpgradeEmptyImage})
			pod.Annotations["kruise.io/sidecarset-working-hotupgrade-container"] = `{"` + container.Name + `":"` + first + `"}`
			for key, value := range map[string]string{"version." + first: "1", "versionalt." + first: "0", "version." + second: "0", "versionalt." + second: "1"} {
				pod.Annotations[versionKey(key)] = value
			}
		}
		w.record(pod, "kruise.io/sidecarset-hash", sidecar.NewRecord(set, full, sidecar.RevisionName(set, w.revisions), now))
		w.record(pod, "kruise.io/sidecarset-hash-without-image", sidecar.NewRecord(set, withoutImage, "", now))
		for j := range pod.Spec.Containers {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: pod.Spec.Containers[j].Name})
		}
		w.node.Run(pod)
		for _, edit := range edits {
			edit(pod)
		}
		w.Add(pod)
		pods = append(pods, pod)
	}
	return pods
}

// versionKey completes "version.c" to the name of the annotation.
func versionKey(short string) string {
	var kind, container string
	for i, c := range short {
		if c == '.' {
			kind, container = short[:i], short[i+1:]
			break
		}
	}
	return kind + ".sidecarset.kruise.io/" + container
}

func (w *world) record(pod *corev1.Pod, key string, record sidecar.Record) {
	w.t.Helper()
	text, err := sidecar.Records{record.SidecarSetName: record}.Encode()
	require.NoError(w.t, err)
	pod.Annotations[key] = text
}

// pass brings the caches up to date and reconciles once.
func (w *world) pass() {
	w.t.Helper()
	require.NoError(w.t, w.tryPass())
}

func (w *world) tryPass() error {
	w.Observe()
	return w.passOverStaleCaches()
}

func (w *world) passOverStaleCaches() error {
	_, err := w.c.Reconcile(w.t.Context(), types.NamespacedName{Name: "logs"})
	return err
}

// run lets the node of every Pod act.
func (w *world) run() {
	w.t.Helper()
	for _, pod := range w.Pods() {
		pod = pod.DeepCopy()
		w.node.Run(pod)
		w.Update(pod)
	}
}

// live runs a second controller, whose informers watch the servers. act changes objects. idle waits until the controller has handled the
// change.
func (w *world) live(act func(idle func())) {
	w.t.Helper()
	synctest.Test(w.t, func(t *testing.T) {
		caches := controller.NewCaches(w.Kube, w.Kruise, "", 0)
		deps := caches.For(w.Deps)
		c, err := New(deps, w.r.Options)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		caches.Start(ctx, deps.Needs())
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx) })
		idle := func() { <-time.After(time.Minute) }
		idle()
		act(idle)
		cancel()
		running.Wait()
		caches.Wait()
	})
}

// settle lets the controller and the nodes act until nothing changes. each is called after each pass.
func (w *world) settle(each ...func()) {
	w.t.Helper()
	for range 100 {
		w.pass()
		for _, check := range each {
			check()
		}
		if len(w.Writes()) == 0 {
			return
		}
		w.run()
	}
	require.FailNow(w.t, "the controller never stops writing")
}

// counters returns matched, updated, ready and updatedReady.
func (w *world) counters() [4]int32 {
	status := w.set().Status
	return [4]int32{status.MatchedPods, status.UpdatedPods, status.ReadyPods, status.UpdatedReadyPods}
}

// images returns the image of a container in each Pod.
func (w *world) images(container string) (images []string) {
	for _, pod := range w.Pods() {
		if c := sidecar.Container(pod, container); c != nil {
			images = append(images, c.Image)
		}
	}
	return images
}

func (w *world) count(container, image string) (n int) {
	for _, have := range w.images(container) {
		if have == image {
			n++
		}
	}
	return n
}

func (w *world) change(pod *corev1.Pod, edit func(*corev1.Pod)) {
	w.t.Helper()
	for _, stored := range w.Pods() {
		if stored.Name == pod.Name {
			stored = stored.DeepCopy()
			edit(stored)
			w.Update(stored)
			return
		}
	}
	require.Fail(w.t, "no such Pod", pod.Name)
}

// revisions returns the stored revisions, oldest first.
func (w *world) revisions() (all []*appsv1.ControllerRevision) {
	w.t.Helper()
	list, err := w.Kube.AppsV1().ControllerRevisions(controllertest.SystemNamespace).List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	history.Sort(all)
	return all
}

func (w *world) numbers() (numbers []int64) {
	for _, revision := range w.revisions() {
		numbers = append(numbers, revision.Revision)
	}
	return numbers
}

// bound checks after each pass that at most n updated Pods are not ready.
func (w *world) bound(n int) func() {
	return func() {
		w.t.Helper()
		unready := 0
		set := w.set()
		for _, pod := range w.Pods() {
			if sidecar.Updated(set, pod) && (!sidecar.Ready(set, pod) || !sidecar.Consistent(pod, sidecar.PodNames(set))) {
				unready++
			}
		}
		assert.LessOrEqual(w.t, unready, n)
	}
}

func (w *world) wait(d time.Duration) { w.Clock.SetTime(w.Clock.Now().Add(d)) }
