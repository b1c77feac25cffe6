package imagepulljob

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/consistency"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	listers "kruise.io/kruise/pkg/generated/listers/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/imagepull"
)

// Name is the controller's in logs, events and metrics.
const Name = "imagepulljob-controller"

var (
	images  = v1beta1.SchemeGroupVersion.WithResource("nodeimages").GroupResource()
	secrets = corev1.SchemeGroupVersion.WithResource("secrets").GroupResource()
)

// Reconciler brings one ImagePullJob at a time to its end.
type Reconciler struct {
	kruise   versioned.Interface
	jobs     listers.ImagePullJobLister
	images   listers.NodeImageLister
	byOwner  cache.Indexer
	pods     corelisters.PodLister
	orders   orders
	copies   *copies
	guard    *consistency.Guard
	recorder record.EventRecorder
	metrics  *controller.Metrics
	clock    clock.PassiveClock
	// tagTTL is how long a tag of a job that ends outlasts what the job itself asks for.
	tagTTL time.Duration
	// versions are the versions of tags that left NodeImages, by node and reference: the next one must be higher, though
	// nobody else remembers them.
	versions *lru.Cache
}

// New makes the controller. It adds indexes to informers, so it must be called before they start.
func New(deps controller.Deps) (*controller.Controller, error) {
	r, err := newReconciler(deps)
	if err != nil {
		return nil, err
	}
	c := controller.New(Name, deps.Options, r.Reconcile)
	return c, r.watch(c, deps)
}

func newReconciler(deps controller.Deps) (*Reconciler, error) {
	kinds := deps.KruiseInformers.Apps().V1beta1()
	secretInformer := deps.PullSecretInformers.Core().V1().Secrets().Informer()
	for name, values := range map[string]cache.IndexFunc{sourceIndex: indexSource, referenceIndex: indexReferences} {
		if err := controller.Index(secretInformer, name, values); err != nil {
			return nil, fmt.Errorf("index pull secrets: %w", err)
		}
	}
	if err := controller.Index(kinds.NodeImages().Informer(), imagepull.OwnersIndex, imagepull.IndexOwners); err != nil {
		return nil, fmt.Errorf("index NodeImages by owner: %w", err)
	}
	for name, values := range map[string]cache.IndexFunc{runningIndex: indexRunning, podSelectorIndex: indexPodSelector} {
		if err := controller.Index(kinds.ImagePullJobs().Informer(), name, values); err != nil {
			return nil, fmt.Errorf("index ImagePullJobs: %w", err)
		}
	}
	guard := consistency.New(deps.ExpectationTimeout, deps.Clock, map[schema.GroupResource]consistency.Store{
		images: kinds.NodeImages().Informer().GetIndexer(), secrets: secretInformer.GetIndexer(),
	})
	// A job that goes on without having seen what it wrote would ask more nodes at once than it may.
	guard.WaitOn()
	return &Reconciler{
		kruise: deps.Kruise, jobs: kinds.ImagePullJobs().Lister(), images: kinds.NodeImages().Lister(),
		byOwner: kinds.NodeImages().Informer().GetIndexer(), pods: deps.KubeInformers.Core().V1().Pods().Lister(),
		orders: orders{cloneSets: kinds.CloneSets().Lister()},
		copies: &copies{
			kube: deps.Kube, indexer: secretInformer.GetIndexer(), namespace: deps.PullSecretsNamespace, guard: guard, clock: deps.Clock,
		},
		guard: guard, recorder: deps.Recorder(Name), metrics: deps.Options.Metrics, clock: deps.Clock,
		tagTTL: deps.NodeImageTagTTL, versions: lru.New(rememberedVersions),
	}, nil
}

func (r *Reconciler) watch(c *controller.Controller, deps controller.Deps) error {
	kinds := deps.KruiseInformers.Apps().V1beta1()
	jobs := kinds.ImagePullJobs().Informer()
	if err := c.Watch(jobs, controller.Self); err != nil {
		return err
	}
	e := &events{jobs: jobs.GetIndexer(), lister: r.jobs, left: r.remember}
	if err := c.WatchChanges(jobs, r.forget); err != nil {
		return err
	}
	if err := c.WatchChanges(kinds.NodeImages().Informer(), e.nodeImage); err != nil {
		return err
	}
	if err := c.WatchChanges(deps.KubeInformers.Core().V1().Pods().Informer(), e.pod); err != nil {
		return err
	}
	return c.WatchChanges(deps.PullSecretInformers.Core().V1().Secrets().Informer(), secretChanged)
}

// running tells whether a job has not ended.
func running(job *v1beta1.ImagePullJob) bool {
	return job.Status.CompletionTime == nil && job.DeletionTimestamp == nil
}

// ownerRef is how a NodeImage names a job.
func ownerRef(job *v1beta1.ImagePullJob) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: imagepull.Kind, Namespace: job.Namespace, Name: job.Name, UID: job.UID,
	}
}

// secretsCheck is how often the Secrets that a running job names are read again. They are in namespaces of users, which nobody
// here may watch.
const secretsCheck = 15 * time.Second
