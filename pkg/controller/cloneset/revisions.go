package cloneset

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/history"
)

// syncRevisions makes the template's revision the newest one, and fills the view's. It returns the collision count to report.
func (r *Reconciler) syncRevisions(ctx context.Context, v *view) (*int32, error) {
	template := v.set.Spec.Template.DeepCopy()
	data, err := history.Data(template)
	if err != nil {
		return nil, err
	}
	history.Sort(v.revisions)
	collisions := v.set.Status.CollisionCount
	resolution := history.Resolve(data, v.revisions)
	switch resolution.Action {
	case history.Reuse:
		v.update = resolution.Revision
	case history.Bump:
		bumped := resolution.Revision.DeepCopy()
		bumped.Revision = resolution.Number
		if err := v.stampClaims(bumped); err != nil {
			return collisions, err
		}
		if v.update, err = r.write.bumpRevision(ctx, v.set, bumped); err != nil {
			return collisions, err
		}
		v.replaceRevision(v.update)
	case history.Create:
		for {
			wanted := history.New(v.set, ownerRef(v.set), template, data, resolution.Number, collisions)
			if err := v.stampClaims(wanted); err != nil {
				return collisions, err
			}
			created, collided, err := r.write.createRevision(ctx, v.set, wanted)
			if err != nil {
				return collisions, err
			}
			if !collided {
				v.update = created
				v.revisions = append(v.revisions, created)
				break
			}
			next := int32(1)
			if collisions != nil {
				next = *collisions + 1
			}
			klog.FromContext(ctx).V(2).Info("Revision name is taken", "revision", wanted.Name, "collisionCount", next)
			collisions = &next
		}
	}
	history.Sort(v.revisions)
	v.current = history.Find(v.revisions, v.set.Status.CurrentRevision)
	if v.current == nil || v.rolledOut() {
		v.current = v.update
	}
	return collisions, nil
}

func (v *view) replaceRevision(revision *appsv1.ControllerRevision) {
	for i := range v.revisions {
		if v.revisions[i].Name == revision.Name {
			v.revisions[i] = revision
		}
	}
}

// trimHistory deletes revisions beyond the limit. One that a Pod is at stays: without it the Pod could not be updated in place.
func (r *Reconciler) trimHistory(ctx context.Context, v *view) error {
	limit := 10
	if v.set.Spec.RevisionHistoryLimit != nil {
		limit = int(*v.set.Spec.RevisionHistoryLimit)
	}
	if len(v.revisions) <= limit {
		return nil
	}
	live := func(revision *appsv1.ControllerRevision) bool {
		if revision.Name == v.update.Name || revision.Name == v.current.Name || revision.Name == v.set.Status.CurrentRevision {
			return true
		}
		for _, pod := range v.pods {
			if history.Matches(pod.Labels[pub.ControllerRevisionHashKey], revision.Name) {
				return true
			}
		}
		return false
	}
	for _, revision := range history.Trim(v.revisions, live, limit) {
		if err := r.write.deleteRevision(ctx, v.set, revision); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete revision %s: %w", revision.Name, err)
		}
	}
	return nil
}
