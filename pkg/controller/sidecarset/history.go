package sidecarset

import (
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// nameAttempts limits how often a pass tries another name for a revision.
const nameAttempts = 5

// register makes the revision of the spec the newest one. It returns all revisions, oldest first, and the collision count.
func (r *Reconciler) register(ctx context.Context, set *v1beta1.SidecarSet) (
	all []*appsv1.ControllerRevision, collisions int32, err error) {
	all, err = r.revisions(set.UID)
	if err != nil {
		return nil, 0, err
	}
	history.Sort(all)
	collisions = ptr.Deref(set.Status.CollisionCount, 0)
	data, err := sidecar.Data(&set.Spec)
	if err != nil {
		return nil, 0, err
	}
	resolution := sidecar.Revisions.Resolve(data, all)
	newest := resolution.Revision
	switch resolution.Action {
	case history.Create:
		newest, collisions, err = r.create(ctx, set, data, resolution.Number, collisions)
	case history.Bump:
		newest = newest.DeepCopy()
		newest.Revision = resolution.Number
		newest, err = r.update(ctx, set, newest)
	case history.Reuse:
	}
	if err != nil {
		return nil, collisions, err
	}
	if version := set.Spec.CustomVersion; version != "" && newest.Labels[pub.SidecarSetCustomVersionKey] != version {
		newest = newest.DeepCopy()
		metav1.SetMetaDataLabel(&newest.ObjectMeta, pub.SidecarSetCustomVersionKey, version)
		if newest, err = r.update(ctx, set, newest); err != nil {
			return nil, collisions, err
		}
	}
	all = slices.DeleteFunc(all, func(revision *appsv1.ControllerRevision) bool { return revision.Name == newest.Name })
	return append(all, newest), collisions, nil
}

// create stores a new revision. If its name is taken by other data, the collision count grows and with it the name changes.
func (r *Reconciler) create(ctx context.Context, set *v1beta1.SidecarSet, data []byte, number int64, collisions int32) (
	*appsv1.ControllerRevision, int32, error) {
	labels := maps.Clone(set.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[pub.SidecarSetNameKey] = set.Name
	if set.Spec.CustomVersion != "" {
		labels[pub.SidecarSetCustomVersionKey] = set.Spec.CustomVersion
	}
	content := &history.Content{Data: data, Labels: labels, Annotations: set.Annotations}
	for range nameAttempts {
		var count *int32
		if collisions > 0 {
			count = &collisions
		}
		wanted := sidecar.Revisions.New(set, *metav1.NewControllerRef(set, kind), content, number, count)
		wanted.Namespace = r.Namespace
		stored, err := r.server.CreateRevision(ctx, wanted)
		if err == nil {
			r.guard.Wrote(set.UID, engine.RevisionResource.GroupResource(), stored.ResourceVersion)
			return stored, collisions, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return nil, collisions, fmt.Errorf("create revision %s: %w", wanted.Name, err)
		}
		existing, err := r.server.GetRevision(ctx, wanted.Namespace, wanted.Name)
		if err != nil {
			return nil, collisions, fmt.Errorf("get revision %s: %w", wanted.Name, err)
		}
		if metav1.IsControlledBy(existing, set) && sidecar.Revisions.Same(existing.Data.Raw, data) {
			return existing, collisions, nil
		}
		collisions++
	}
	return nil, collisions, fmt.Errorf("create a revision of SidecarSet %s: %d names are taken", set.Name, nameAttempts)
}

func (r *Reconciler) update(ctx context.Context, set *v1beta1.SidecarSet, revision *appsv1.ControllerRevision) (
	*appsv1.ControllerRevision, error) {
	stored, err := r.server.UpdateRevision(ctx, revision)
	if err != nil {
		return nil, fmt.Errorf("update revision %s: %w", revision.Name, err)
	}
	r.guard.Wrote(set.UID, engine.RevisionResource.GroupResource(), stored.ResourceVersion)
	return stored, nil
}

// trim deletes the oldest revisions beyond the limit that nothing uses. all are the revisions, oldest first.
func (r *Reconciler) trim(ctx context.Context, v *view, all []*appsv1.ControllerRevision) error {
	limit := max(1, int(ptr.Deref(v.set.Spec.RevisionHistoryLimit, 10)))
	excess := len(all) - limit
	if excess <= 0 {
		return nil
	}
	used := v.usedRevisions(all)
	for _, revision := range all[:len(all)-1] {
		if excess == 0 {
			return nil
		}
		if used[revision.Name] {
			continue
		}
		if err := r.server.DeleteRevision(ctx, revision); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete revision %s: %w", revision.Name, err)
		}
		r.guard.Deleted(v.set.UID, engine.RevisionResource.GroupResource(), revision)
		excess--
	}
	if excess > 0 {
		klog.FromContext(ctx).V(2).Info("More revisions are in use than the limit allows", "excess", excess)
	}
	return nil
}

// usedRevisions returns the revisions that Pods record, and the one that is injected into new Pods.
func (v *view) usedRevisions(all []*appsv1.ControllerRevision) map[string]bool {
	used := map[string]bool{}
	for i := range v.pods {
		if records, err := sidecar.ReadRecords(v.pods[i].Annotations, pub.SidecarSetHashKey); err == nil {
			used[records[v.set.Name].ControllerRevision] = true
		}
	}
	injected := v.set.Spec.InjectionStrategy.Revision
	if injected == nil {
		return used
	}
	if name := ptr.Deref(injected.RevisionName, ""); name != "" {
		used[name] = true
		return used
	}
	for _, revision := range slices.Backward(all) {
		if version := ptr.Deref(injected.CustomVersion, ""); version != "" && revision.Labels[pub.SidecarSetCustomVersionKey] == version {
			used[revision.Name] = true
			break
		}
	}
	return used
}
