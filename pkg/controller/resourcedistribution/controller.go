package resourcedistribution

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	kruise "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
	listers "kruise.io/kruise/pkg/generated/listers/apps/v1beta1"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/passes"
)

// Name is the controller's name in logs and metrics.
const Name = "resourcedistribution-controller"

const (
	// conflictPeriod is how often a conflict with another object is looked at again, because the controller does not watch that
	// object. conflictRest is the least time between two looks, so that events of other namespaces do not cost requests for it.
	conflictPeriod, conflictRest = 5 * time.Minute, 10 * time.Second
)

// kind is what owner references name. secrets and configMaps are what the guard waits for.
var (
	kind       = v1beta1.SchemeGroupVersion.WithKind("ResourceDistribution")
	secrets    = corev1.SchemeGroupVersion.WithResource("secrets")
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
)

// Reconciler reconciles ResourceDistributions. Its fields are set before the controller starts. conflicts and rewordings have locks of
// their own.
type Reconciler struct {
	// client writes statuses. distributions, which byResource indexes, and namespaces are caches.
	client        kruise.ResourceDistributionInterface
	distributions listers.ResourceDistributionLister
	byResource    cache.Indexer
	namespaces    corelisters.NamespaceLister
	// There is one value for each kind that can be distributed.
	secrets    *copies[*corev1.Secret]
	configMaps *copies[*corev1.ConfigMap]
	clock      clock.PassiveClock
	conflicts  conflicts
	// rewordings limits new texts of lasting failures.
	rewordings controller.Rewordings
	// searched has the UIDs of ResourceDistributions whose copies in system namespaces were looked for by name. It is only a cache.
	searched sync.Map
}

// New returns the controller. It adds indexes to informers, so it must be called before they start. It returns an error if an informer
// rejects an index or a handler.
func New(deps controller.Deps) (*reconcile.Controller, error) {
	_, c := build(deps)
	return c.Build()
}

// build makes the Reconciler, and adds its indexes and watches to the informers.
func build(deps controller.Deps) (*Reconciler, *controller.Of[*v1beta1.ResourceDistribution]) {
	ours, namespaces := deps.KruiseInformers.Apps().V1beta1().ResourceDistributions(), deps.KubeInformers.Core().V1().Namespaces()
	// These informers watch only objects with the label of copies, and keep of them only what reduce returns.
	copied := deps.KubeInformers.Selected(pub.DistributedCopyKey, reduce).Core().V1()
	r := &Reconciler{
		client: deps.Kruise.AppsV1beta1().ResourceDistributions(), distributions: ours.Lister(), namespaces: namespaces.Lister(),
		clock: deps.Clock, conflicts: conflicts{known: map[types.UID]*known{}},
	}
	c := controller.For(deps, Name, ours, r.Reconcile)
	// A copy that another client changes or deletes starts a pass of its owner.
	r.byResource = c.Index(ours, byResource, resourceOf)
	for kind, informer := range map[string]controller.Informer{"Secret": copied.Secrets(), "ConfigMap": copied.ConfigMaps()} {
		c.IndexByClusterOwner(informer)
		c.Watch(informer, owner)
		c.WatchChanges(informer, func(before, after metav1.Object) []types.NamespacedName { return r.freed(kind, before, after) })
	}
	// The guard stops a pass until the caches show the copies that the last pass wrote.
	c.Guards(secrets, copied.Secrets())
	c.Guards(configMaps, copied.ConfigMaps())
	r.secrets = &copies[*corev1.Secret]{
		resource: secrets.GroupResource(), cached: copied.Secrets().Informer().GetIndexer(), guard: c.Guard(), decode: decodeSecret,
		client: func(namespace string) client[*corev1.Secret] { return deps.Kube.CoreV1().Secrets(namespace) },
	}
	r.configMaps = &copies[*corev1.ConfigMap]{
		resource: configMaps.GroupResource(), cached: copied.ConfigMaps().Informer().GetIndexer(), guard: c.Guard(), decode: decodeConfigMap,
		client: func(namespace string) client[*corev1.ConfigMap] { return deps.Kube.CoreV1().ConfigMaps(namespace) },
	}
	c.WatchChanges(namespaces, r.namespaceChanged)
	c.Forget(func(d *v1beta1.ResourceDistribution) {
		r.conflicts.forget(d.UID)
		r.rewordings.Forget(d.UID)
		r.searched.Delete(d.UID)
	})
	return r, c
}

// owner returns the ResourceDistribution of a copy.
var owner = controller.ClusterOwnerOf(kind.GroupKind())

// byResource is the index of ResourceDistributions by the kind and the name of their resource.
const byResource = "resource"

// resourceOf is the index function of byResource. A resource that cannot be decoded has no copies.
func resourceOf(obj any) ([]string, error) {
	d, ok := obj.(*v1beta1.ResourceDistribution)
	if !ok {
		return nil, nil
	}
	var resource metav1.PartialObjectMetadata
	if err := json.Unmarshal(d.Spec.Resource.Raw, &resource); err != nil {
		return nil, nil //nolint:nilerr // An index has no use for it.
	}
	return []string{resource.Kind + "/" + resource.Name}, nil
}

// freed returns the ResourceDistributions that may have a copy in the place of a deleted one. While its owner wants it, it is created
// again (case 8), and nobody else gets the place.
func (r *Reconciler) freed(kind string, before, after metav1.Object) (keys []types.NamespacedName) {
	if before == nil || after != nil && after.GetUID() == before.GetUID() || r.wanted(kind, before) {
		return nil
	}
	names, _ := r.byResource.IndexKeys(byResource, kind+"/"+before.GetName()) // It fails only without the index.
	for _, name := range names {
		keys = append(keys, types.NamespacedName{Name: name})
	}
	return keys
}

// wanted reports whether a copy belongs to a ResourceDistribution that has it as its target.
func (r *Reconciler) wanted(kind string, copied metav1.Object) bool {
	owner := metav1.GetControllerOfNoCopy(copied)
	if owner == nil {
		return false
	}
	d, err := r.distributions.Get(owner.Name)
	if err != nil || d.UID != owner.UID || d.DeletionTimestamp != nil {
		return false
	}
	if names, _ := resourceOf(d); !slices.Contains(names, kind+"/"+copied.GetName()) {
		return false
	}
	namespace, _ := r.namespaces.Get(copied.GetNamespace()) // It fails only if the namespace does not exist.
	t, err := newTargets(&d.Spec.Targets)
	return err == nil && t.of(copied.GetNamespace(), namespace) == needsCopy
}

// namespaceChanged returns the ResourceDistributions for which a namespace needs something else than before. before is nil for
// a new namespace, and after is nil for a deleted one. It compares the needs, so a label that no selector reads causes no pass.
func (r *Reconciler) namespaceChanged(before, after metav1.Object) (keys []types.NamespacedName) {
	b, _ := before.(*corev1.Namespace)
	a, _ := after.(*corev1.Namespace)
	if a != nil && b != nil && terminating(a) == terminating(b) && labels.Equals(a.Labels, b.Labels) {
		return nil
	}
	// One of the two is not nil.
	name := ""
	for _, namespace := range []*corev1.Namespace{a, b} {
		if namespace != nil {
			name = namespace.Name
		}
	}
	all, _ := r.distributions.List(labels.Everything()) // The cache returns no error.
	for _, d := range all {
		if t, err := newTargets(&d.Spec.Targets); err == nil && t.of(name, b) != t.of(name, a) {
			keys = append(keys, controller.Self(d)...)
		}
	}
	return keys
}

// Reconcile makes the copies right in all target namespaces, deletes the others, and writes the status. The garbage collector
// deletes the copies of a deleted ResourceDistribution. A resource that cannot be decoded or is of another kind is no error:
// only a change of the spec helps, and validation refuses such objects.
func (r *Reconciler) Reconcile(ctx context.Context, d *v1beta1.ResourceDistribution) (reconcile.Result, error) {
	if d.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	var resource metav1.TypeMeta
	if err := json.Unmarshal(d.Spec.Resource.Raw, &resource); err != nil {
		klog.FromContext(ctx).Error(err, "Cannot decode spec.resource, waiting for a change of the ResourceDistribution")
		return reconcile.Result{}, nil
	}
	switch resource.Kind {
	case "Secret":
		return distribute(ctx, r, r.secrets, d)
	case "ConfigMap":
		return distribute(ctx, r, r.configMaps, d)
	}
	klog.FromContext(ctx).Error(nil, "Cannot distribute objects of this kind, waiting for a change of the ResourceDistribution",
		"kind", resource.Kind)
	return reconcile.Result{}, nil
}

// task is what a pass does in one namespace.
type task struct {
	namespace string
	// live is the copy in the cache, or nil.
	live *seen
	// unwanted is true if the copy is to be deleted, and kept if it is only kept right.
	unwanted, kept bool
}

// distribute runs one pass over the copies of a ResourceDistribution. A failure in one namespace does not stop the others (case
// 15). The error contains all failures that a retry may cure.
func distribute[T controller.Object](
	ctx context.Context, r *Reconciler, c *copies[T], d *v1beta1.ResourceDistribution,
) (reconcile.Result, error) {
	template, err := c.template(d)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot decode spec.resource, waiting for a change of the ResourceDistribution")
		return reconcile.Result{}, nil
	}
	where, err := newTargets(&d.Spec.Targets)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot select namespaces, waiting for a change of the ResourceDistribution")
		return reconcile.Result{}, nil
	}
	namespaces, err := r.namespaces.List(labels.Everything())
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("list namespaces: %w", err)
	}
	copied, kept, missing := where.split(namespaces)
	digest, err := digestOf(template)
	if err != nil {
		return reconcile.Result{}, err
	}
	unlabelled, failed := unlabelledCopies(ctx, r, c, d, template.GetName(), copied)
	// A failure to read the cache is the only error here.
	tasks, err := c.tasks(d, template, *digest, copied, kept, unlabelled)
	if err != nil {
		return reconcile.Result{}, err
	}
	// A namespace that is being deleted takes its copy with it, when its Pods are gone.
	tasks = slices.DeleteFunc(tasks, func(t task) bool { return t.unwanted && r.terminating(t.namespace) })
	// Each task writes its own element, so no lock is needed.
	outcomes := make([]outcome, len(tasks), len(tasks)+missing.Len())
	// It starts with one write. The function never fails, so SlowStart only limits how fast the number of concurrent writes
	// grows.
	_ = passes.SlowStart(len(tasks), passes.Width, func(i int) error {
		if !r.outdated(d) {
			outcomes[i] = run(ctx, r, c, d, template, *digest, tasks[i])
		}
		return nil // A failure in one namespace does not stop the others.
	})
	// Thousands of namespaces take longer than a user waits for a change. The event of the change starts the next pass.
	if r.outdated(d) {
		return reconcile.Result{}, nil
	}
	outcomes = append(outcomes, failed...)
	for name := range missing {
		outcomes = append(outcomes, outcome{namespace: name, failure: &failure{v1beta1.ResourceDistributionNamespaceNotExists, errNamespace}})
	}
	return r.report(ctx, d, copied.Len()+missing.Len(), outcomes)
}

// outdated reports whether the spec has changed since the pass began, or the ResourceDistribution was deleted. It reads the cache.
func (r *Reconciler) outdated(d *v1beta1.ResourceDistribution) bool {
	now, err := r.distributions.Get(d.Name)
	return err != nil || now.UID != d.UID || now.Generation != d.Generation || now.DeletionTimestamp != nil
}

// tasks returns what is to be done, first in the namespaces that need a copy, then in those that have one without need.
// Namespaces whose copy is right have no task. A copy with another name than the resource has now is deleted too. unlabelled are copies
// that the cache does not have.
func (c *copies[T]) tasks(
	d *v1beta1.ResourceDistribution, template T, digest [sha256.Size]byte, copied, kept sets.Set[string], unlabelled []*seen,
) (tasks []task, err error) {
	owned, err := c.owned(d)
	if err != nil {
		return nil, err
	}
	// The copies by namespace, as far as they are wanted.
	live := map[string]*seen{}
	var extra []task
	for _, copy := range slices.Concat(owned, unlabelled) {
		named := copy.Name == template.GetName()
		switch {
		case named && copied.Has(copy.Namespace):
			live[copy.Namespace] = copy
		case copy.DeletionTimestamp != nil:
		case !named || !kept.Has(copy.Namespace):
			extra = append(extra, task{namespace: copy.Namespace, live: copy, unwanted: true})
		case !right(copy, template, digest):
			extra = append(extra, task{namespace: copy.Namespace, live: copy, kept: true})
		}
	}
	for _, namespace := range sets.List(copied) {
		if copy := live[namespace]; copy == nil || !right(copy, template, digest) {
			tasks = append(tasks, task{namespace: namespace, live: copy})
		}
	}
	return append(tasks, extra...), nil
}

// unlabelledCopies returns the copies in system namespaces that the cache does not have. OpenKruise up to 1.9 copied into them with
// allNamespaces or a selector, and without the label by which copies are watched. In other namespaces, a wanted copy is found when it
// cannot be created, and gets the label. The copies are looked for once by name, which costs two requests, and only for a
// ResourceDistribution that was distributed before. A failure is an outcome of its namespace.
func unlabelledCopies[T controller.Object](
	ctx context.Context, r *Reconciler, c *copies[T], d *v1beta1.ResourceDistribution, name string, copied sets.Set[string],
) (found []*seen, failed []outcome) {
	if _, done := r.searched.LoadOrStore(d.UID, true); done || d.Status.ObservedGeneration == 0 {
		return nil, nil
	}
	for namespace := range systemNamespaces.Difference(copied) {
		if _, cached, _ := c.cached.GetByKey(cache.NewObjectName(namespace, name).String()); cached { // The cache returns no error.
			continue
		}
		live, failure := c.read(ctx, d, namespace, name)
		switch {
		case failure != nil && failure.condition != v1beta1.ResourceDistributionConflictOccurred:
			failed = append(failed, outcome{namespace: namespace, extra: true, failure: failure})
		case failure == nil && live != nil:
			found = append(found, live)
		}
	}
	if len(failed) > 0 {
		r.searched.Delete(d.UID)
	}
	return found, failed
}

// run does what a namespace needs. A namespace without a copy may have an object of others in its place. The cache shows it if it is a
// copy. Any other one is not looked at again for conflictRest.
func run[T controller.Object](
	ctx context.Context, r *Reconciler, c *copies[T], d *v1beta1.ResourceDistribution, template T, digest [sha256.Size]byte, todo task,
) outcome {
	result := outcome{namespace: todo.namespace, extra: todo.unwanted || todo.kept}
	switch {
	case todo.unwanted:
		result.failure = c.remove(ctx, d, todo.live)
	case todo.live == nil:
		if result.failure = c.inTheWay(d, todo.namespace, template.GetName()); result.failure != nil {
			break
		}
		where, now := r.place(todo.namespace), r.clock.Now()
		if result.failure = r.conflicts.recent(d, where, now); result.failure == nil {
			result.failure = c.put(ctx, d, template, digest, todo.namespace, nil)
			r.conflicts.note(d, where, result.failure, now)
		}
	default:
		result.failure = c.put(ctx, d, template, digest, todo.namespace, todo.live)
	}
	return result
}

// place is a namespace. One that is created again under its name is another place.
type place struct {
	name string
	uid  types.UID
}

// place returns the namespace with the name, as the cache has it.
func (r *Reconciler) place(name string) place {
	if namespace, err := r.namespaces.Get(name); err == nil {
		return place{name, namespace.UID}
	}
	return place{name: name}
}

// terminating reports whether the namespace with the name is being deleted, as the cache has it.
func (r *Reconciler) terminating(name string) bool {
	namespace, err := r.namespaces.Get(name)
	return err == nil && terminating(namespace)
}

// report writes the status. It returns the failures that are worth a retry. If the ResourceDistribution was deleted, the status
// is not written, and this is no error.
func (r *Reconciler) report(
	ctx context.Context, d *v1beta1.ResourceDistribution, desired int, outcomes []outcome,
) (result reconcile.Result, err error) {
	now := r.clock.Now()
	reword := func(since time.Time) bool {
		// The text of an older spec may be wrong now.
		return d.Status.ObservedGeneration != d.Generation || r.rewordings.Due(d.UID, since, now)
	}
	_, err = controller.UpdateStatus(ctx, r.client, d, func(fresh *v1beta1.ResourceDistribution) error {
		fresh.Status = status(d, desired, outcomes, now, reword)
		return nil
	})
	for _, o := range outcomes {
		switch {
		case o.failure == nil || o.condition == v1beta1.ResourceDistributionNamespaceNotExists: // The namespace's next change is an event.
		// No event tells when the object of others is gone, unless it is a copy of an earlier ResourceDistribution of this name.
		case o.condition == v1beta1.ResourceDistributionConflictOccurred:
			result.RequeueAfter = conflictPeriod
		default:
			err = errors.Join(err, fmt.Errorf("namespace %s: %s: %w", o.namespace, o.condition, o.err))
		}
	}
	return result, err
}
