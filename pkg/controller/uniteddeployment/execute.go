package uniteddeployment

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/ordering"
	"kruise.io/kruise/pkg/workload/passes"
)

// Reasons of events.
const (
	eventRevision  = "FailedRevisionProvision"
	eventReplicas  = "Failed SpecifySubsetReplicas"
	eventFind      = "FailedFindSubsets"
	eventUpdated   = "SuccessfulUpdateSubset"
	eventFailed    = "FailedUpdateSubset"
	eventDuplicate = "FailedDeleteDuplicatedSubsets"
)

// provision creates the workloads that are missing and deletes those that are extra. Both are done in the same pass: a removed subset
// or a changed kind does not wait for the new Pods to be ready. Failures in a terminating namespace are no event, because nothing can
// be created there.
func (r *Reconciler) provision(ctx context.Context, p *pass) error {
	var missing []*subset
	for _, s := range p.subsets {
		if s.child == nil {
			missing = append(missing, s)
		}
	}
	err := errors.Join(r.create(ctx, p, ordering.Shuffled(missing)), r.remove(ctx, p))
	if err != nil && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		r.recorder.Eventf(p.united, corev1.EventTypeWarning, eventFailed, "%v", err)
	}
	return err
}

// create creates the workloads of subsets that have none. It starts with one and doubles the number while all succeed, so that a quota
// or a policy that refuses them is not asked for each. The guard records each write, so the next pass waits until the cache shows it,
// and does not create a second workload.
func (r *Reconciler) create(ctx context.Context, p *pass, missing []*subset) error {
	var created atomic.Int32
	err := passes.SlowStart(len(missing), passes.Width, func(i int) error {
		s := missing[i]
		workload, err := p.using.build(p.united, p.wish(s))
		if err != nil {
			return err
		}
		workload.SetNamespace(p.united.Namespace)
		// The random part lets a new workload exist beside one that is still being deleted.
		workload.SetGenerateName(p.using.prefix(p.united.Name, s.Name))
		workload.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(p.united, kind)})
		stored, err := p.using.create(ctx, workload)
		if err != nil {
			return fmt.Errorf("create %s for subset %s: %w", p.using.kind.Kind, s.Name, err)
		}
		created.Add(1)
		r.guard.Wrote(p.united.UID, p.using.resource.GroupResource(), stored.GetResourceVersion())
		return nil
	})
	if n := created.Load(); n > 0 {
		r.recorder.Eventf(p.united, corev1.EventTypeNormal, eventUpdated, "Create %d Subset (%s)", n, p.using.kind.Kind)
	}
	return err
}

// remove deletes the extra workloads. The UID in the preconditions protects a new workload of the same name. With background
// propagation the workload is gone at once, and the garbage collector deletes its Pods. The events count the workloads of each kind,
// because a change of the kind deletes all of the former kind.
func (r *Reconciler) remove(ctx context.Context, p *pass) error {
	// The map is complete before the goroutines start, so it needs no lock.
	removed := map[*adapter]*atomic.Int32{}
	for _, a := range r.adapters {
		removed[a] = &atomic.Int32{}
	}
	err := passes.Parallel(len(p.extra), passes.Width, func(i int) error {
		c, background := p.extra[i], metav1.DeletePropagationBackground
		uid := c.GetUID()
		err := c.delete(ctx, c.GetNamespace(), c.GetName(), metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background,
		})
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil
		}
		// The Pods of the subset run twice while the duplicate stays, so this has an event of its own.
		if err != nil && c.duplicate {
			r.recorder.Eventf(p.united, corev1.EventTypeWarning, eventDuplicate, "delete %s %s: %v", c.kind.Kind, c.GetName(), err)
		}
		if err != nil {
			return fmt.Errorf("delete %s %s: %w", c.kind.Kind, c.GetName(), err)
		}
		removed[c.adapter].Add(1)
		r.guard.Deleted(p.united.UID, c.resource.GroupResource(), c.Object)
		return nil
	})
	for _, a := range r.adapters {
		if n := removed[a].Load(); n > 0 {
			r.recorder.Eventf(p.united, corev1.EventTypeNormal, eventUpdated, "Delete %d Subset (%s)", n, a.kind.Kind)
		}
	}
	return err
}

// wish returns the desired workload of a subset.
func (p *pass) wish(s *subset) *wish {
	return &wish{
		template: &p.united.Spec.Template, revision: p.label, subset: s.Subset, patch: patchOf(s.Subset),
		replicas: s.replicas, partition: s.partition, maxUnavailable: s.maxUnavailable(),
	}
}

// outdated reports whether the workload of a subset differs from what the subset decides. It compares only what changes with each
// decision, and not the whole spec: defaults that the API server filled in, and changes of other clients, start no write. The label
// stands for the template, because each template has its own revision.
func (p *pass) outdated(s *subset) bool {
	c := s.child
	return c.GetLabels()[pub.KruiseControllerRevisionHashKey] != p.label ||
		c.GetAnnotations()[pub.SubsetPatchKey] != patchOf(s.Subset) ||
		*c.replicas == nil || **c.replicas != s.replicas ||
		c.partition != nil && c.partition() != s.partition || p.stalled(s)
}

// update writes the workloads that differ. Workloads that provision has just created are not among them.
func (r *Reconciler) update(ctx context.Context, p *pass) error {
	var outdated []*subset
	for _, s := range p.subsets {
		if s.child != nil && p.outdated(s) {
			outdated = append(outdated, s)
		}
	}
	err := passes.Parallel(len(outdated), passes.Width, func(i int) error { return r.updateOne(ctx, p, outdated[i]) })
	if err != nil {
		r.recorder.Eventf(p.united, corev1.EventTypeWarning, eventFailed, "%v", err)
	}
	return err
}

// updateOne writes the difference between what the workload was built as and what is desired. If only defaults differ, the patch is
// nil, and nothing is written.
func (r *Reconciler) updateOne(ctx context.Context, p *pass, s *subset) error {
	c := s.child
	wanted, err := c.build(p.united, p.wish(s))
	if err != nil {
		return err
	}
	before, err := p.before(s, wanted)
	if err != nil {
		return err
	}
	patch, err := c.difference(before, wanted, c.Object)
	if err != nil || patch == nil {
		return err
	}
	stored, err := c.patch(ctx, c.GetNamespace(), c.GetName(), patch)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil // Deleted or replaced, and the cache will show it.
	case err != nil:
		return fmt.Errorf("update %s %s: %w", c.kind.Kind, c.GetName(), err)
	}
	r.guard.Wrote(p.united.UID, c.resource.GroupResource(), stored.GetResourceVersion())
	return nil
}

// before returns what the workload of a subset was built as: from the revision and the patch that it names. difference compares it with
// wanted to find fields that the template no longer sets. If the revision does not exist any more, before returns wanted, so that
// nothing is removed. Replicas and partition are left out: wanted always has them.
func (p *pass) before(s *subset, wanted controller.Object) (controller.Object, error) {
	label := s.child.GetLabels()[pub.KruiseControllerRevisionHashKey]
	revision := p.revision(label)
	if revision == nil {
		return wanted, nil
	}
	template, err := templateOf(revision)
	if err != nil {
		return nil, err
	}
	built, err := s.child.build(p.united, &wish{
		template: template, revision: label, subset: s.Subset, patch: s.child.GetAnnotations()[pub.SubsetPatchKey],
	})
	if err != nil {
		return wanted, nil //nolint:nilerr // An older patch that cannot be applied was never written.
	}
	// The value for a reservation is not in the revision. With the stored value here, the difference sets the value of the template
	// again, or removes the field if the template has none. Without a reservation, a value that another client wrote stays.
	if of := s.child.adapter.parts(built); p.mayOverride(s) && of.maxUnavailable != nil {
		*of.maxUnavailable() = s.child.storedMaxUnavailable()
	}
	return built, nil
}

// revision returns the revision with a label, or nil. A workload without the label has no known revision.
func (p *pass) revision(label string) *appsv1.ControllerRevision {
	for _, revision := range p.revisions {
		if label != "" && labelOf(revision.Name) == label {
			return revision
		}
	}
	return nil
}
