package engine

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/workload/history"
)

// writeRevision stores the View's update revision as the newest one. It returns the stored revision and the collision count to
// report. If another object has the revision's name, it returns no revision and no error, and the next pass retries with a
// higher collision count.
func (x *execution) writeRevision(ctx context.Context) (stored *appsv1.ControllerRevision, collisions *int32, err error) {
	v := x.view
	collisions = v.Revisions.CollisionCount
	// A revision of a Pod must be stored before the Pod, because later passes compare templates by it.
	switch v.revision {
	case history.Bump:
		if stored, err = x.Server.UpdateRevision(ctx, v.Update); err != nil {
			return nil, collisions, fmt.Errorf("update the number of revision %s: %w", v.Update.Name, err)
		}
		x.Guard.Wrote(v.Object.GetUID(), RevisionResource.GroupResource(), stored.ResourceVersion)
	case history.Create:
		if stored, err = x.createRevision(ctx, v.Update); err != nil || stored != nil {
			return stored, collisions, err
		}
		next := int32(1)
		if collisions != nil {
			next = *collisions + 1
		}
		klog.FromContext(ctx).V(2).Info("Revision name is taken", "revision", v.Update.Name, "collisionCount", next)
		return nil, &next, nil
	default:
		stored = v.Update
	}
	return stored, collisions, nil
}

// createRevision creates a revision of the workload. It returns what CreateRevision returns.
func (x *execution) createRevision(ctx context.Context, wanted *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	return CreateRevision(ctx, x.Server, x.Guard, x.view.Object, &x.view.Revisions.Format, wanted)
}

// CreateRevision creates a revision of the owner. If its name is taken by a revision of the same owner with the same data, it
// returns that revision: an earlier creation succeeded, and its answer was lost or the cache does not show it. A revision with the
// same data and without an owner is adopted, for example after a deletion that kept the Pods. If the name is taken by anything else,
// it returns nil without an error.
func CreateRevision(
	ctx context.Context, server Server, guard Guard, owner metav1.Object, format *history.Format, wanted *appsv1.ControllerRevision,
) (*appsv1.ControllerRevision, error) {
	revision, err := server.CreateRevision(ctx, wanted)
	if apierrors.IsAlreadyExists(err) {
		if revision, err = server.GetRevision(ctx, wanted.Namespace, wanted.Name); err != nil {
			return nil, fmt.Errorf("get revision %s: %w", wanted.Name, err)
		}
		switch {
		case !format.Same(revision, wanted):
			return nil, nil
		case metav1.IsControlledBy(revision, owner):
			return revision, nil
		case metav1.GetControllerOfNoCopy(revision) != nil || revision.DeletionTimestamp != nil:
			return nil, nil
		}
		revision, err = server.AdoptRevision(ctx, revision, *metav1.GetControllerOfNoCopy(wanted))
	}
	if err != nil {
		return nil, fmt.Errorf("create revision %s: %w", wanted.Name, err)
	}
	guard.Wrote(owner.GetUID(), RevisionResource.GroupResource(), revision.ResourceVersion)
	return revision, nil
}

// Label adds a label with the value "true" to a revision of the owner, so that a decision about the revision is made only once.
func (e *Engine) Label(ctx context.Context, owner types.UID, revision *appsv1.ControllerRevision, key string) error {
	labelled := revision.DeepCopy()
	metav1.SetMetaDataLabel(&labelled.ObjectMeta, key, "true")
	written, err := e.Server.UpdateRevision(ctx, labelled)
	if err != nil {
		return fmt.Errorf("label revision %s: %w", labelled.Name, err)
	}
	e.Guard.Wrote(owner, RevisionResource.GroupResource(), written.ResourceVersion)
	return nil
}

// Trim deletes the revisions beyond the limit that nothing uses. Call it after Execute, with the same View.
func (e *Engine) Trim(ctx context.Context, v *View) error {
	return e.DropRevisions(ctx, v, v.Trim())
}

// DropRevisions deletes revisions of the workload. It stops at the first error. A revision that is gone already is no error.
func (e *Engine) DropRevisions(ctx context.Context, v *View, revisions []*appsv1.ControllerRevision) error {
	for _, revision := range revisions {
		err := e.Server.DeleteRevision(ctx, revision)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("delete revision %s: %w", revision.Name, err)
		}
		e.Guard.Deleted(v.Object.GetUID(), RevisionResource.GroupResource(), revision)
	}
	return nil
}
