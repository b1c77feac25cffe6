package uniteddeployment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/selectorindex"
)

// orphanIndex finds workloads that have no controller and the label of a subset.
const orphanIndex = "orphansOfSubsets"

// orphanOf returns the name of the subset whose workload an object without a controller was, or "". The label proves that a
// UnitedDeployment created the workload. A workload that is being deleted is not adopted.
func orphanOf(object metav1.Object) string {
	if metav1.GetControllerOfNoCopy(object) != nil || object.GetDeletionTimestamp() != nil {
		return ""
	}
	return object.GetLabels()[pub.SubsetNameKey]
}

// orphansIn adds an index of the workloads without a controller, and reconciles the UnitedDeployments that select such a workload. The
// returned function lists those of a subset. Without the watch, a UnitedDeployment would not notice that the garbage collector released
// a workload from its former owner.
func orphansIn(
	c *controller.Of[*v1beta1.UnitedDeployment], informer controller.Informer, selecting reconcile.Mapper,
) func(namespace, subset string) ([]controller.Object, error) {
	c.Watch(informer, func(object metav1.Object) []types.NamespacedName {
		if orphanOf(object) == "" {
			return nil
		}
		return selecting(object)
	})
	indexer := c.Index(informer, orphanIndex, func(obj any) ([]string, error) {
		if object, ok := obj.(metav1.Object); ok && orphanOf(object) != "" {
			return []string{cache.NewObjectName(object.GetNamespace(), orphanOf(object)).String()}, nil
		}
		return nil, nil
	})
	return func(namespace, subset string) (found []controller.Object, err error) {
		items, err := indexer.ByIndex(orphanIndex, cache.NewObjectName(namespace, subset).String())
		if err != nil {
			return nil, fmt.Errorf("list workloads without a controller: %w", err)
		}
		for _, item := range items {
			if object, ok := item.(controller.Object); ok {
				found = append(found, object)
			}
		}
		return found, nil
	}
}

// adopt makes the UnitedDeployment the controller of the workloads of its subsets that have none, for example because they were kept when
// an earlier UnitedDeployment was deleted. Without this, the Pods of each such subset would run twice.
func (r *Reconciler) adopt(ctx context.Context, p *pass) error {
	for _, s := range p.subsets {
		if s.child != nil {
			continue
		}
		orphans, err := p.using.orphans(p.united.Namespace, s.Name)
		if err != nil {
			return err
		}
		// The index returns a new slice, so that it may be changed here.
		orphans = slices.DeleteFunc(orphans, func(object controller.Object) bool { return !p.fits(s, object) })
		if len(orphans) == 0 {
			continue
		}
		// The API server is read only if there is something to adopt, which is rare.
		if err := r.mayAdopt(ctx, p.united); err != nil {
			return err
		}
		if err := r.adoptWorkload(ctx, p, s, slices.MinFunc(orphans, older)); err != nil {
			return err
		}
	}
	return nil
}

// fits reports whether a workload without a controller can be that of a subset. The selector must be exactly the one that the subset
// would write, because the selector of a workload is immutable. The label of the subset was already checked by the index.
func (p *pass) fits(s *subset, object controller.Object) bool {
	selector := selectorOf(p.united.Spec.Selector, s.Name)
	return selectorindex.Parse(p.united.Spec.Selector).Matches(labels.Set(object.GetLabels())) &&
		apiequality.Semantic.DeepEqual(*p.using.parts(object).selector, selector)
}

// adoptWorkload makes the UnitedDeployment the owner of a workload, and makes the workload the child of the subset in this pass. The
// same pass then updates it instead of creating another one. The patch names the UID, so it fails if the name now belongs to another
// workload. If the workload was deleted or replaced, the subset has no child, and provision creates one.
func (r *Reconciler) adoptWorkload(ctx context.Context, p *pass, s *subset, orphan controller.Object) error {
	owner := *metav1.NewControllerRef(p.united, kind)
	patch, err := engine.OwnersPatch(orphan.GetUID(), "", &owner)
	if err != nil {
		return err
	}
	stored, err := p.using.patch(ctx, orphan.GetNamespace(), orphan.GetName(), patch)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil
	case err != nil:
		return fmt.Errorf("adopt %s %s: %w", p.using.kind.Kind, orphan.GetName(), err)
	}
	r.guard.Wrote(p.united.UID, p.using.resource.GroupResource(), stored.GetResourceVersion())
	// The cache does not show the new owner yet, so the stored form is used for the rest of the pass.
	s.child = &child{Object: stored, adapter: p.using, parts: p.using.parts(stored)}
	p.children = append(p.children, s.child)
	return nil
}

// adoptRevisions makes the UnitedDeployment the controller of its revisions that have none, and returns them. Without them, adopted
// workloads would be updated to another name of the same revision. Only revisions that contain a template of a known kind, and whose
// name begins with that of the UnitedDeployment, are adopted: the selector alone also matches revisions of other owners, for example of
// a CloneSet.
func (r *Reconciler) adoptRevisions(ctx context.Context, united *v1beta1.UnitedDeployment) ([]*appsv1.ControllerRevision, error) {
	orphans, err := r.orphanRevisions(united.Namespace, selectorindex.Parse(united.Spec.Selector))
	if err != nil {
		return nil, err
	}
	orphans = slices.DeleteFunc(orphans, func(revision *appsv1.ControllerRevision) bool {
		template, err := templateOf(revision)
		return err != nil || r.using(template) == nil || !strings.HasPrefix(revision.Name, united.Name+"-")
	})
	if len(orphans) == 0 {
		return nil, nil
	}
	if err := r.mayAdopt(ctx, united); err != nil {
		return nil, err
	}
	var adopted []*appsv1.ControllerRevision
	for _, revision := range orphans {
		stored, err := r.server.AdoptRevision(ctx, revision, *metav1.NewControllerRef(united, kind))
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("adopt revision %s: %w", revision.Name, err)
		}
		r.guard.Wrote(united.UID, engine.RevisionResource.GroupResource(), stored.ResourceVersion)
		adopted = append(adopted, stored)
	}
	return adopted, nil
}

// errDeleted ends a pass over a UnitedDeployment that was deleted. The cache shows this a moment later.
var errDeleted = errors.New("the UnitedDeployment was deleted")

// mayAdopt returns nil if the UnitedDeployment may adopt, and errDeleted if it is deleted, replaced or being deleted. It reads from the
// API server, because the cache may not show the deletion yet. With --cascade=orphan, the garbage collector releases the workloads
// because the user wants to keep them, so a deleted UnitedDeployment must not take them back.
func (r *Reconciler) mayAdopt(ctx context.Context, united *v1beta1.UnitedDeployment) error {
	fresh, err := r.fresh(ctx, united.Namespace, united.Name)
	switch {
	case apierrors.IsNotFound(err):
		return errDeleted
	case err != nil:
		return fmt.Errorf("adopt: read UnitedDeployment %s: %w", united.Name, err)
	case fresh.UID != united.UID, fresh.DeletionTimestamp != nil:
		return errDeleted
	}
	return nil
}
