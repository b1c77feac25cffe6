package nodeimage

import (
	"fmt"
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
	"kruise.io/kruise/pkg/workload/imagepull"
)

// Name is the controller's in logs, events and metrics.
const Name = "nodeimage-controller"

// goneJobs is how many jobs are remembered that do not exist any more.
const goneJobs = 10000

// Reconciler brings one NodeImage at a time to what its node and its owners say.
type Reconciler struct {
	kube     kubernetes.Interface
	kruise   versioned.Interface
	nodes    corelisters.NodeLister
	images   listers.NodeImageLister
	jobs     listers.ImagePullJobLister
	recorder record.EventRecorder
	clock    clock.PassiveClock
	// delay is how long a node is ready before it gets a NodeImage.
	delay time.Duration
	// gone are UIDs of jobs that do not exist any more, which no other job will ever have.
	gone *lru.Cache
}

// New makes the controller. It adds an index to an informer, so it must be called before that starts.
func New(deps controller.Deps) (*controller.Controller, error) {
	r := newReconciler(deps)
	c := controller.New(Name, deps.Options, r.Reconcile)
	return c, r.watch(c, deps)
}

func newReconciler(deps controller.Deps) *Reconciler {
	kinds := deps.KruiseInformers.Apps().V1beta1()
	return &Reconciler{
		kube: deps.Kube, kruise: deps.Kruise, nodes: deps.KubeInformers.Core().V1().Nodes().Lister(),
		images: kinds.NodeImages().Lister(), jobs: kinds.ImagePullJobs().Lister(),
		recorder: deps.Recorder(Name), clock: deps.Clock, delay: deps.NodeImageCreationDelay, gone: lru.New(goneJobs),
	}
}

func (r *Reconciler) watch(c *controller.Controller, deps controller.Deps) error {
	images := deps.KruiseInformers.Apps().V1beta1().NodeImages().Informer()
	if err := controller.Index(images, imagepull.OwnersIndex, imagepull.IndexOwners); err != nil {
		return fmt.Errorf("index NodeImages by owner: %w", err)
	}
	if err := c.Watch(images, controller.Self); err != nil {
		return err
	}
	if err := c.Watch(deps.KubeInformers.Core().V1().Nodes().Informer(), controller.Self, worthAPass); err != nil {
		return err
	}
	jobs := deps.KruiseInformers.Apps().V1beta1().ImagePullJobs().Informer()
	return c.WatchChanges(jobs, func(before, after metav1.Object) []types.NamespacedName {
		return r.concerned(images.GetIndexer(), before, after)
	})
}

// concerned are the NodeImages in which a job is an owner that went, or that ended: it counts their tags no longer.
func (r *Reconciler) concerned(images cache.Indexer, before, after metav1.Object) (names []types.NamespacedName) {
	was, _ := before.(*v1beta1.ImagePullJob)
	is, _ := after.(*v1beta1.ImagePullJob)
	if was == nil {
		return nil
	}
	left := is == nil || is.UID != was.UID
	if left {
		r.gone.Add(was.UID, nil)
	}
	if !left && (running(is) || !running(was)) {
		return nil
	}
	keys, err := images.IndexKeys(imagepull.OwnersIndex, string(was.UID))
	if err != nil {
		return nil
	}
	for _, key := range keys {
		names = append(names, types.NamespacedName{Name: key})
	}
	return names
}

// running tells whether a job has not ended.
func running(job *v1beta1.ImagePullJob) bool {
	return job.Status.CompletionTime == nil && job.DeletionTimestamp == nil
}
