package garbagecollection

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/admission/initializer"
)

// PluginName is the plugin's name in flags.
const PluginName = "GarbageCollectionProtection"

// The users under which the garbage collector of Kubernetes deletes objects: with a service account for each controller, and
// without. The second one is also that of other controllers.
const (
	collector         = "system:serviceaccount:kube-system:generic-garbage-collector"
	controllerManager = "system:kube-controller-manager"
)

var refused = metrics.NewCounter(&metrics.CounterOpts{
	Name:           "kruise_garbage_collection_refused_total",
	Help:           "Number of refused deletions by the garbage collector of objects whose Kruise owner exists.",
	StabilityLevel: metrics.ALPHA,
})

// registerMetrics is called by New, so a server without the plugin does not show the metric.
var registerMetrics = sync.OnceFunc(func() { legacyregistry.MustRegister(refused) })

// Register adds the plugin to the list.
func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(), nil })
}

// New returns the plugin. It handles deletions, about which kube-apiserver asks by review, and updates, which remove
// finalizers from Kruise objects of this server.
func New() *Plugin {
	registerMetrics()
	return &Plugin{Handler: admission.NewHandler(admission.Delete, admission.Update)}
}

// Plugin is the admission plugin. Its reader asks the store of this server: a list or get through kube-apiserver is
// what misleads the garbage collector in the first place.
type Plugin struct {
	*admission.Handler
	initializer.KruiseOwners
}

var (
	_ admission.ValidationInterface     = &Plugin{}
	_ admission.InitializationValidator = &Plugin{}
)

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	return initializer.Initialized(PluginName, &p.KruiseOwners)
}

// Validate implements admission.ValidationInterface. It returns an internal error if an owner or dependents cannot be read.
func (p *Plugin) Validate(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	switch {
	case attributes.GetSubresource() != "":
		// A subresource deletes nothing, and finalizers are removed by a write of the main resource.
		return nil
	case attributes.GetOperation() == admission.Update:
		return p.validateOrphaned(ctx, attributes)
	case attributes.GetOperation() == admission.Delete && byCollector(attributes):
		return p.validateDeletion(ctx, attributes)
	default:
		return nil
	}
}

// validateOrphaned refuses to remove the finalizer orphan while Kruise objects name the object as their owner. The garbage collector
// releases the dependents that it has seen, then removes the finalizer, and deletes every dependent that it sees later. After an outage
// of this server, its watches can start again many seconds late. It retries after a conflict.
func (p *Plugin) validateOrphaned(ctx context.Context, attributes admission.Attributes) error {
	// The finalizers of other objects are left to the server that stores them.
	if !p.Owners.Has(attributes.GetKind().Group) {
		return nil
	}
	object, err := meta.Accessor(attributes.GetOldObject())
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	updated, err := meta.Accessor(attributes.GetObject())
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	// Only the removal of the finalizer from a terminating object is of interest. That is the last step of an
	// orphaning deletion.
	if object.GetDeletionTimestamp() == nil || !slices.Contains(object.GetFinalizers(), metav1.FinalizerOrphanDependents) ||
		slices.Contains(updated.GetFinalizers(), metav1.FinalizerOrphanDependents) {
		return nil
	}
	kept, err := p.Owners.Dependents(ctx, object.GetNamespace(), object.GetUID())
	// An error also keeps the finalizer. The garbage collector retries, and a dependent that is deleted cannot be
	// brought back.
	switch {
	case err != nil:
		return apierrors.NewInternalError(fmt.Errorf("find the dependents of %s: %w", object.GetName(), err))
	case len(kept) == 0:
		return nil
	}
	klog.FromContext(ctx).Info("Kept the finalizer orphan, because dependents still name their owner",
		"resource", attributes.GetResource().Resource, "object", klog.KRef(object.GetNamespace(), object.GetName()), "dependents", len(kept))
	return apierrors.NewConflict(attributes.GetResource().GroupResource(), object.GetName(), fmt.Errorf(
		"metadata.finalizers: orphan cannot be removed while dependents name this object as their owner (%d, for example %s); wait until "+
			"the garbage collector has released them, or remove this object from their metadata.ownerReferences", len(kept), kept[0]))
}

// validateDeletion refuses a deletion by the garbage collector while a Kruise owner exists. One existing owner is
// enough: the garbage collector of Kubernetes also keeps an object as long as any of its owners exists. Owners of
// other groups are left to the garbage collector itself. An owner that cannot be read is an internal error, and the
// failure policy of the webhook refuses.
func (p *Plugin) validateDeletion(ctx context.Context, attributes admission.Attributes) error {
	object, err := meta.Accessor(attributes.GetOldObject())
	if err != nil {
		return nil //nolint:nilerr // A host that does not say what is deleted has no owners to show.
	}
	references := object.GetOwnerReferences()
	for i := range references {
		reference := &references[i]
		exists, err := p.exists(ctx, object.GetNamespace(), reference)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("read owner %s %s: %w", reference.Kind, reference.Name, err))
		}
		if !exists {
			continue
		}
		// The refusal is counted for dry runs too; the garbage collector never sends one. The message in the log
		// tells the administrator what is wrong.
		refused.Inc()
		klog.FromContext(ctx).Info("Refused a deletion by the garbage collector, because the owner exists: check the APIServices of Kruise",
			"resource", attributes.GetResource().Resource, "object", klog.KRef(object.GetNamespace(), object.GetName()),
			"ownerKind", reference.Kind, "owner", reference.Name)
		return apierrors.NewForbidden(attributes.GetResource().GroupResource(), object.GetName(), fmt.Errorf(
			"%s %s, which owns it, exists; to delete it, delete the owner", reference.Kind, reference.Name))
	}
	return nil
}

// byCollector reports whether the garbage collector asks. It deletes an object that it has seen, so it sends the UID
// as a precondition, and it says what happens to the dependents. Of the other controllers with the same user, only the one that
// deletes finished Jobs does both. Deletions by users and by other controllers are never refused.
func byCollector(attributes admission.Attributes) bool {
	switch attributes.GetUserInfo().GetName() {
	case collector:
		return true
	case controllerManager:
		options, ok := attributes.GetOperationOptions().(*metav1.DeleteOptions)
		return ok && options.PropagationPolicy != nil && options.Preconditions != nil && options.Preconditions.UID != nil &&
			!afterFinished(attributes.GetOldObject(), *options.PropagationPolicy)
	default:
		return false
	}
}

// afterFinished reports whether the deletion looks like that of a finished Job after its ttlSecondsAfterFinished. The garbage collector
// can delete such a Job in the same way. The Job has no work left, so that deletion is not refused either.
func afterFinished(object runtime.Object, policy metav1.DeletionPropagation) bool {
	job, ok := object.(*batchv1.Job)
	return ok && policy == metav1.DeletePropagationForeground && job.Spec.TTLSecondsAfterFinished != nil &&
		slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
			return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
		})
}

// exists reports whether the owner is a Kruise object that exists and keeps its dependents. An object of the same
// name with another UID is not the owner. A terminating owner still counts, unless it waits for its dependents.
func (p *Plugin) exists(ctx context.Context, namespace string, reference *metav1.OwnerReference) (bool, error) {
	version, err := schema.ParseGroupVersion(reference.APIVersion)
	if err != nil || !p.Owners.Has(version.Group) {
		return false, nil //nolint:nilerr // A reference that nobody can read is no reference to a Kruise object.
	}
	owner, err := p.Owners.Get(ctx, version.WithKind(reference.Kind), namespace, reference.Name)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, err
	case owner.UID != reference.UID:
		return false, nil
	}
	// With this finalizer, the owner waits until the garbage collector has deleted its dependents.
	foreground := owner.DeletionTimestamp != nil && slices.Contains(owner.Finalizers, metav1.FinalizerDeleteDependents)
	return !foreground, nil
}
