package controllertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/features"
	kruisefake "kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	kruisescheme "kruise.io/kruise/pkg/generated/clientset/versioned/scheme"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/podstate"
)

// Now is the start time of every fixture.
var Now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// eventBuffer is how many events a fixture holds before it blocks.
const eventBuffer = 100000

// Fixture is the environment of one controller.
type Fixture struct {
	Kube   *kubefake.Clientset
	Kruise *kruisefake.Clientset
	// Deps are the Deps of one controller. Caches makes more of them.
	Deps   controller.Deps
	Caches *controller.Caches
	Clock  *clocktesting.FakePassiveClock

	t          testing.TB
	events     *record.FakeRecorder
	created    int
	caches     []cached
	controller *reconcile.Controller
	// leaving are the deleted Pods that their nodes have not stopped yet.
	leaving []*corev1.Pod
}

var podResource = corev1.SchemeGroupVersion.WithResource("pods")

// cached is a resource that the fixture caches.
type cached struct {
	tracker clienttesting.ObjectTracker
	gvr     schema.GroupVersionResource
	kind    string
	indexer cache.Indexer
	// namespace is the only namespace that the cache watches, or "".
	namespace string
	// label is the label of the only objects that the cache watches, or "". transform returns what it holds of them.
	label     string
	transform cache.TransformFunc
}

// SystemNamespace is the namespace of the programs.
const SystemNamespace = "kruise-system"

// New returns a fixture with the objects in it. gates is a value of the feature gates flag. Observe fills the caches.
func New(t testing.TB, gates string, objects ...runtime.Object) *Fixture {
	t.Helper()
	// NewClientset tracks the owners of fields, for which it builds a REST mapper at each write. Controllers do not apply objects.
	f := &Fixture{
		Kube:   kubefake.NewSimpleClientset(),
		Kruise: kruisefake.NewSimpleClientset(),
		Clock:  clocktesting.NewFakePassiveClock(Now), t: t, events: record.NewFakeRecorder(eventBuffer),
	}
	gate, err := features.New("")
	require.NoError(t, err)
	require.NoError(t, gate.Set(gates))
	f.Caches = controller.NewCaches(f.Kube, f.Kruise, "", 0)
	f.Deps = f.Caches.For(controller.Deps{
		Kube: f.Kube, Kruise: f.Kruise, Recorder: func(string) record.EventRecorder { return f.events },
		Features: gate, Clock: f.Clock, ExpectationTimeout: 5 * time.Minute,
	})
	f.Kube.PrependReactor("create", "*", f.nameCreated)
	f.Kube.PrependReactor("delete", "pods", f.terminate)
	f.caches = f.observed(f.Caches.For(f.Deps))
	f.Add(objects...)
	return f
}

// observed returns the caches that Observe fills: the workload kinds, and everything else that controllers read.
func (f *Fixture) observed(deps controller.Deps) (all []cached) {
	kubeIn := func(namespace string, gv schema.GroupVersion, resource, kind string, informer controller.Informer) {
		all = append(all, cached{
			tracker: f.Kube.Tracker(), gvr: gv.WithResource(resource), kind: kind, indexer: informer.Informer().GetIndexer(), namespace: namespace,
		})
	}
	kube := func(gv schema.GroupVersion, resource, kind string, informer controller.Informer) {
		kubeIn("", gv, resource, kind, informer)
	}
	ours := func(gv schema.GroupVersion, resource, kind string, informer controller.Informer) {
		all = append(all, cached{
			tracker: f.Kruise.Tracker(), gvr: gv.WithResource(resource), kind: kind, indexer: informer.Informer().GetIndexer(),
		})
	}
	for kind, informer := range controller.Workloads(deps, func(*kinds.Kind) bool { return true }) {
		resource, add := kinds.Of(kind).Resource, kube
		if kruisescheme.Scheme.Recognizes(resource.GroupVersion().WithKind(kind.Kind)) {
			add = ours
		}
		add(resource.GroupVersion(), resource.Resource, kind.Kind, informer)
	}
	core, apps := deps.KubeInformers.Core().V1(), deps.KruiseInformers.Apps().V1beta1()
	kube(corev1.SchemeGroupVersion, "pods", "Pod", core.Pods())
	kube(corev1.SchemeGroupVersion, "persistentvolumeclaims", "PersistentVolumeClaim", core.PersistentVolumeClaims())
	kube(corev1.SchemeGroupVersion, "nodes", "Node", core.Nodes())
	kube(corev1.SchemeGroupVersion, "namespaces", "Namespace", core.Namespaces())
	kube(storagev1.SchemeGroupVersion, "storageclasses", "StorageClass", deps.KubeInformers.Storage().V1().StorageClasses())
	// Secrets are only cached in one namespace, because no controller may cache the Secrets of users.
	kubeIn(pub.DaemonConfigNamespace, corev1.SchemeGroupVersion, "secrets", "Secret",
		deps.KubeInformers.InNamespace(pub.DaemonConfigNamespace).Core().V1().Secrets())
	kube(appsv1.SchemeGroupVersion, "controllerrevisions", "ControllerRevision", deps.KubeInformers.Apps().V1().ControllerRevisions())
	kubeIn(SystemNamespace, appsv1.SchemeGroupVersion, "controllerrevisions", "ControllerRevision",
		deps.KubeInformers.InNamespace(SystemNamespace).Apps().V1().ControllerRevisions())
	kube(batchv1.SchemeGroupVersion, "jobs", "Job", deps.KubeInformers.Batch().V1().Jobs())
	ours(v1beta1.SchemeGroupVersion, "advancedcronjobs", "AdvancedCronJob", apps.AdvancedCronJobs())
	ours(v1beta1.SchemeGroupVersion, "uniteddeployments", "UnitedDeployment", apps.UnitedDeployments())
	ours(v1beta1.SchemeGroupVersion, "sidecarsets", "SidecarSet", apps.SidecarSets())
	ours(v1beta1.SchemeGroupVersion, "persistentpodstates", "PersistentPodState", apps.PersistentPodStates())
	ours(v1beta1.SchemeGroupVersion, "workloadspreads", "WorkloadSpread", apps.WorkloadSpreads())
	ours(v1beta1.SchemeGroupVersion, "resourcedistributions", "ResourceDistribution", apps.ResourceDistributions())
	ours(v1beta1.SchemeGroupVersion, "containerrecreaterequests", "ContainerRecreateRequest", apps.ContainerRecreateRequests())
	ours(v1beta1.SchemeGroupVersion, "nodeimages", "NodeImage", apps.NodeImages())
	ours(v1beta1.SchemeGroupVersion, "imagepulljobs", "ImagePullJob", apps.ImagePullJobs())
	ours(v1beta1.SchemeGroupVersion, "imagelistpulljobs", "ImageListPullJob", apps.ImageListPullJobs())
	ours(v1alpha1.SchemeGroupVersion, "ephemeraljobs", "EphemeralJob", deps.KruiseInformers.Apps().V1alpha1().EphemeralJobs())
	ours(v1alpha1.SchemeGroupVersion, "podprobemarkers", "PodProbeMarker", deps.KruiseInformers.Apps().V1alpha1().PodProbeMarkers())
	ours(v1alpha1.SchemeGroupVersion, "nodepodprobes", "NodePodProbe", deps.KruiseInformers.Apps().V1alpha1().NodePodProbes())
	ours(policyv1beta1.SchemeGroupVersion, "podunavailablebudgets", "PodUnavailableBudget",
		deps.KruiseInformers.Policy().V1beta1().PodUnavailableBudgets())
	return all
}

// nameCreated sets the fields that a server sets on a created object.
func (f *Fixture) nameCreated(action clienttesting.Action) (bool, runtime.Object, error) {
	if create, ok := action.(clienttesting.CreateAction); ok {
		if object, err := meta.Accessor(create.GetObject()); err == nil {
			f.stamp(object)
		}
	}
	return false, nil, nil
}

// StopSteps is how often Observe is called until a deleted Pod is gone: the first call shows its final phase, and the second removes it.
const StopSteps = 2

// terminate starts the deletion of a Pod, as a server does.
func (f *Fixture) terminate(action clienttesting.Action) (bool, runtime.Object, error) {
	request := action.(clienttesting.DeleteAction)
	object, err := f.Kube.Tracker().Get(podResource, request.GetNamespace(), request.GetName())
	if err != nil {
		return true, nil, err
	}
	pod := object.(*corev1.Pod).DeepCopy()
	if pod.DeletionTimestamp == nil {
		pod.DeletionTimestamp = &metav1.Time{Time: f.Clock.Now()}
		f.leaving = append(f.leaving, pod)
	}
	return true, nil, f.Kube.Tracker().Update(podResource, pod, pod.Namespace)
}

// stop lets the nodes of the deleted Pods act.
func (f *Fixture) stop() {
	f.t.Helper()
	leaving := f.leaving
	f.leaving = nil
	node := &Node{Now: f.Clock.Now()}
	for _, pod := range leaving {
		object, err := f.Kube.Tracker().Get(podResource, pod.Namespace, pod.Name)
		if err != nil || object.(*corev1.Pod).UID != pod.UID {
			continue
		}
		stopped := object.(*corev1.Pod).DeepCopy()
		if podstate.Finished(stopped) {
			require.NoError(f.t, f.Kube.Tracker().Delete(podResource, pod.Namespace, pod.Name))
			continue
		}
		node.Stop(stopped, corev1.PodFailed)
		require.NoError(f.t, f.Kube.Tracker().Update(podResource, stopped, pod.Namespace))
		f.leaving = append(f.leaving, stopped)
	}
}

func (f *Fixture) stamp(object metav1.Object) {
	f.created++
	if object.GetUID() == "" {
		object.SetUID(types.UID(fmt.Sprintf("uid-%d", f.created)))
	}
	if created := object.GetCreationTimestamp(); created.IsZero() {
		object.SetCreationTimestamp(metav1.NewTime(f.Clock.Now()))
	}
}

// Add adds objects to the servers.
func (f *Fixture) Add(objects ...runtime.Object) {
	f.t.Helper()
	for _, object := range objects {
		accessor, err := meta.Accessor(object)
		require.NoError(f.t, err)
		f.stamp(accessor)
		tracker := f.Kube.Tracker()
		if _, _, err := kruisescheme.Scheme.ObjectKinds(object); err == nil {
			tracker = f.Kruise.Tracker()
		}
		require.NoError(f.t, tracker.Add(object))
	}
}

// Observe lets the nodes stop deleted Pods, and brings the caches up to date with the servers.
func (f *Fixture) Observe() {
	f.t.Helper()
	f.stop()
	for _, c := range f.caches {
		list, err := c.tracker.List(c.gvr, c.gvr.GroupVersion().WithKind(c.kind), c.namespace)
		require.NoError(f.t, err)
		items, err := meta.ExtractList(list)
		require.NoError(f.t, err)
		all := make([]any, 0, len(items))
		for _, item := range items {
			if held := c.hold(f.t, item.DeepCopyObject()); held != nil {
				all = append(all, held)
			}
		}
		require.NoError(f.t, c.indexer.Replace(all, ""))
	}
}

// hold returns what the cache holds of an object, or nil if it does not watch it.
func (c *cached) hold(t testing.TB, object runtime.Object) any {
	t.Helper()
	accessor, err := meta.Accessor(object)
	require.NoError(t, err)
	if _, labelled := accessor.GetLabels()[c.label]; c.label != "" && !labelled {
		return nil
	}
	if c.transform == nil {
		return object
	}
	held, err := c.transform(object)
	require.NoError(t, err)
	return held
}

// CacheSelected makes Observe fill the cache of an informer that KubeInformers.Selected has returned.
func (f *Fixture) CacheSelected(
	gvr schema.GroupVersionResource, kind string, informer controller.Informer, label string, transform cache.TransformFunc,
) {
	f.caches = append(f.caches, cached{
		tracker: f.Kube.Tracker(), gvr: gvr, kind: kind, indexer: informer.Informer().GetIndexer(), label: label, transform: transform,
	})
}

// Pods returns the Pods on the server that nobody has deleted with Kube, sorted by name.
func (f *Fixture) Pods() []*corev1.Pod {
	f.t.Helper()
	list, err := f.Kube.Tracker().List(corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithKind("Pod"), "")
	require.NoError(f.t, err)
	pods := list.(*corev1.PodList)
	all := make([]*corev1.Pod, 0, len(pods.Items))
	for i := range pods.Items {
		if pod := &pods.Items[i]; !slices.ContainsFunc(f.leaving, func(p *corev1.Pod) bool { return p.UID == pod.UID }) {
			all = append(all, pod)
		}
	}
	slices.SortFunc(all, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Update replaces an object on its server, as another client would.
func (f *Fixture) Update(object runtime.Object) {
	f.t.Helper()
	accessor, err := meta.Accessor(object)
	require.NoError(f.t, err)
	for _, c := range f.caches {
		if fmt.Sprintf("%T", object) == "*"+c.gvr.Version+"."+c.kind {
			require.NoError(f.t, c.tracker.Update(c.gvr, object, accessor.GetNamespace()))
			return
		}
	}
	require.Failf(f.t, "unknown kind", "%T", object)
}

// Writes returns the writes since its last call, as "verb resource[/subresource] name", sorted. The random part of a created
// object's name is left out.
func (f *Fixture) Writes() (writes []string) {
	for _, action := range append(f.Kube.Actions(), f.Kruise.Actions()...) {
		resource := action.GetResource().Resource
		if action.GetSubresource() != "" {
			resource += "/" + action.GetSubresource()
		}
		switch a := action.(type) {
		case clienttesting.CreateActionImpl:
			writes = append(writes, "create "+resource)
		case clienttesting.UpdateActionImpl:
			writes = append(writes, "update "+resource+" "+nameOf(a.GetObject()))
		case clienttesting.PatchActionImpl:
			writes = append(writes, "patch "+resource+" "+a.GetName())
		case clienttesting.DeleteActionImpl:
			writes = append(writes, "delete "+resource+" "+a.GetName())
		}
	}
	f.Kube.ClearActions()
	f.Kruise.ClearActions()
	slices.Sort(writes)
	return writes
}

// mostPasses is how many passes a controller may need until it writes nothing more.
const mostPasses = 200

// Settle brings the caches up to date and calls reconcile, until nothing more is written. It returns the writes.
func (f *Fixture) Settle(reconcile func()) (writes []string) {
	f.t.Helper()
	for range mostPasses {
		f.Observe()
		reconcile()
		written := f.Writes()
		if len(written) == 0 && len(f.leaving) == 0 {
			return writes
		}
		writes = append(writes, written...)
	}
	require.FailNow(f.t, "the controller never stops writing", "%v", writes[max(0, len(writes)-30):])
	return nil
}

func nameOf(object runtime.Object) string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return "?"
	}
	return accessor.GetName()
}

// Events returns the events since its last call, as "type reason message".
func (f *Fixture) Events() (events []string) {
	for {
		select {
		case event := <-f.events.Events:
			events = append(events, event)
		default:
			return events
		}
	}
}
