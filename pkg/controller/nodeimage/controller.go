package nodeimage

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	listers "kruise.io/kruise/pkg/generated/listers/apps/v1beta1"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/imagetag"
)

// Name is the controller's name in logs, events and metrics.
const Name = "nodeimage-controller"

// goneJobs is the maximum number of deleted jobs that are kept in memory. A job that was dropped costs another request.
const goneJobs = 10000

// Reconciler reconciles NodeImages.
type Reconciler struct {
	// kube reads Secrets, and kruise writes NodeImages.
	kube   kubernetes.Interface
	kruise versioned.Interface
	// nodes and jobs are caches.
	nodes    corelisters.NodeLister
	jobs     listers.ImagePullJobLister
	recorder record.EventRecorder
	clock    clock.PassiveClock
	// delay is how long a node must be ready before it gets a NodeImage.
	delay time.Duration
	// gone caches UIDs of deleted jobs. UIDs are never reused, so an entry never becomes wrong.
	gone *lru.Cache
}

// Options are the options of this controller.
type Options struct {
	// CreationDelay is how long a node must be ready before it gets a NodeImage.
	CreationDelay time.Duration
}

// New returns the controller. It adds an index to an informer, so it must be called before the informer starts. It returns an
// error if an informer rejects an index or a handler.
func New(deps controller.Deps, options Options) (*reconcile.Controller, error) {
	_, c := build(deps, options)
	return c.Build()
}

// build makes the Reconciler, and adds its index and its watches to the informers.
func build(deps controller.Deps, options Options) (*Reconciler, *controller.Of[*v1beta1.NodeImage]) {
	ours, nodes := deps.KruiseInformers.Apps().V1beta1(), deps.KubeInformers.Core().V1().Nodes()
	r := &Reconciler{
		kube: deps.Kube, kruise: deps.Kruise, nodes: nodes.Lister(), jobs: ours.ImagePullJobs().Lister(),
		recorder: deps.Recorder(Name), clock: deps.Clock, delay: options.CreationDelay, gone: lru.New(goneJobs),
	}
	c := controller.For(deps, Name, ours.NodeImages(), r.Reconcile)
	// A node without a NodeImage gets one.
	c.Absent(r.create)
	c.Watch(nodes, controller.Self, needsReconcile)
	byOwner := c.Index(ours.NodeImages(), imagetag.OwnersIndex, imagetag.IndexOwners)
	c.WatchChanges(ours.ImagePullJobs(), func(before, after metav1.Object) []types.NamespacedName {
		return r.concerned(byOwner, before, after)
	})
	return r, c
}

// concerned returns the NodeImages that have a job as an owner, if that job was deleted or is not active any more. It no longer counts
// their tags, so they may expire. A job with the same name and another UID is another job.
func (r *Reconciler) concerned(images cache.Indexer, before, after metav1.Object) (names []types.NamespacedName) {
	was, _ := before.(*v1beta1.ImagePullJob)
	is, _ := after.(*v1beta1.ImagePullJob)
	if was == nil {
		return nil
	}
	// A job that was deleted and created again between two events has another UID.
	left := is == nil || is.UID != was.UID
	if left {
		r.gone.Add(was.UID, nil)
	}
	if !left && (active(is) || !active(was)) {
		return nil
	}
	keys, err := images.IndexKeys(imagetag.OwnersIndex, string(was.UID))
	if err != nil {
		return nil
	}
	for _, key := range keys {
		names = append(names, types.NamespacedName{Name: key})
	}
	return names
}

// active reports whether a job will end and has not ended. A job that never completes would keep its tags without end, so it is not
// active.
func active(job *v1beta1.ImagePullJob) bool {
	return job.Status.CompletionTime == nil && job.DeletionTimestamp == nil &&
		job.Spec.CompletionPolicy.Type != v1beta1.CompletionPolicyNever
}
