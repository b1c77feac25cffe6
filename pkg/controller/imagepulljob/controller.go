package imagepulljob

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/consistency"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	listers "kruise.io/kruise/pkg/generated/listers/apps/v1beta1"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/imagetag"
)

// Name is the controller's name in logs, events and metrics.
const Name = "imagepulljob-controller"

var (
	imageResource  = v1beta1.SchemeGroupVersion.WithResource("nodeimages")
	secretResource = corev1.SchemeGroupVersion.WithResource("secrets")
	images         = imageResource.GroupResource()
	secrets        = secretResource.GroupResource()
)

// Reconciler reconciles ImagePullJobs.
type Reconciler struct {
	kruise versioned.Interface
	jobs   listers.ImagePullJobLister
	// images, byOwner and orders are caches. byOwner finds NodeImages by the UIDs of the jobs that own their tags.
	images  listers.NodeImageLister
	byOwner cache.Indexer
	orders  orders
	// selected lists Pods by the labels that the job selects, through an index.
	selected controller.SelectedPods
	// copies keeps the copies of pull secrets.
	copies   *copies
	guard    *consistency.Guard
	recorder record.EventRecorder
	clock    clock.PassiveClock
	// tagTTL is how long a tag outlives the time that the job itself asks for. It applies to jobs that end.
	tagTTL time.Duration
	// versions holds the last versions of tags that were removed from NodeImages, by node and reference. The next version must be
	// higher, and nothing else records the old one.
	versions *lru.Cache
	// refusals are the nodes whose NodeImages the server did not change for a job.
	refusals refusals
	// failing are the nodes whose NodeImages could not be written for a job.
	failing failing
	agents  *controller.Agents
	// pace lets one pass cover many reports of nodes.
	pace *engine.Pace
}

// Options are the options of this controller.
type Options struct {
	// PullSecretsNamespace is the namespace for copies of pull secrets, which node agents may read.
	PullSecretsNamespace string
	// Namespace is the namespace of the node agents.
	Namespace string
	// TagTTL is how long a tag outlives the time that the job itself asks for. It applies to jobs that end.
	TagTTL time.Duration
}

// New returns the controller. It adds indexes to informers, so it must be called before they start. It returns an error if an
// informer rejects an index or a handler.
func New(deps controller.Deps, options Options) (*reconcile.Controller, error) {
	_, c := build(deps, options)
	return c.Build()
}

// build makes the reconciler and its skeleton, so that tests can use the reconciler without a queue.
func build(deps controller.Deps, options Options) (*Reconciler, *controller.Of[*v1beta1.ImagePullJob]) {
	ours, pods := deps.KruiseInformers.Apps().V1beta1(), deps.KubeInformers.Core().V1().Pods()
	copied := deps.KubeInformers.InNamespace(options.PullSecretsNamespace).Core().V1().Secrets()
	r := &Reconciler{
		kruise: deps.Kruise, jobs: ours.ImagePullJobs().Lister(), images: ours.NodeImages().Lister(),
		recorder: deps.Recorder(Name), clock: deps.Clock, tagTTL: options.TagTTL, versions: lru.New(rememberedVersions),
		orders: newOrders(deps), refusals: refusals{clock: deps.Clock}, failing: failing{clock: deps.Clock},
		pace: engine.NewPace(deps.Clock),
	}
	c := controller.For(deps, Name, ours.ImagePullJobs(), r.Reconcile)
	r.guard = c.Guard()
	// With a cache that lacks the last write, count would take a node for one that was not asked, and the job would ask too many.
	c.Guards(imageResource, ours.NodeImages())
	c.Guards(secretResource, copied)
	r.byOwner = c.Index(ours.NodeImages(), imagetag.OwnersIndex, imagetag.IndexOwners)
	r.selected = c.PodsByLabels(pods)
	r.agents = c.Agents(pods, deps.KubeInformers.Core().V1().Nodes(), options.Namespace, nil)
	r.copies = &copies{kube: deps.Kube, jobs: r.jobs, namespace: options.PullSecretsNamespace, guard: r.guard, clock: deps.Clock}
	r.copies.indexer = c.Index(copied, sourceIndex, indexSource)
	c.Index(copied, referenceIndex, indexReferences)
	c.Index(copied, namespaceIndex, indexNamespace)
	c.Absent(r.absent)
	c.Forget(func(job *v1beta1.ImagePullJob) {
		r.copies.forget(job.UID)
		r.refusals.forget(job.UID)
		r.failing.forget(job.UID)
		r.pace.Forget(job.UID)
	})
	e := &events{jobs: c.Index(ours.ImagePullJobs(), runningIndex, indexRunning), lister: r.jobs, left: r.remember}
	c.Index(ours.ImagePullJobs(), podSelectorIndex, indexPodSelector)
	// These differs compare two states, so that a report of one node reconciles only the jobs of the tags that changed.
	c.WatchChanges(ours.NodeImages(), e.nodeImage)
	c.WatchChanges(pods, e.pod)
	c.WatchChanges(copied, secretChanged)
	return r, c
}

// running reports whether a job has not ended. A job that is being deleted asks no more nodes.
func running(job *v1beta1.ImagePullJob) bool {
	return job.Status.CompletionTime == nil && job.DeletionTimestamp == nil
}

// ownerRef returns the reference to a job in a NodeImage. It is no owner reference of Kubernetes: a NodeImage is cluster-scoped, so
// garbage collection would not follow it.
func ownerRef(job *v1beta1.ImagePullJob) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: imagetag.Kind, Namespace: job.Namespace, Name: job.Name, UID: job.UID,
	}
}

const (
	// secretsCheck is how often the Secrets that a running job names are read again. They are in the namespaces of users, which the
	// controller must not watch. A change shows in the copy within 5 s. The interval is a second shorter, because a pass takes time,
	// too.
	secretsCheck = 4 * time.Second
	// unusedAge is how long a copy stays after its last user. Jobs that run one after the other then share it.
	unusedAge = 5 * time.Second
)
