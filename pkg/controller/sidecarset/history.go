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

// register makes the revision of the spec the newest one. It returns all revisions, oldest first, and the collision count. Content that
// was stored before gets its old revision back with the highest number (case 25). The label customVersion is not part of the content,
// so it is written to the revision with a second write if it changed alone.
func (r *Reconciler) register(ctx context.Context, set *v1beta1.SidecarSet) (
	all []*appsv1.ControllerRevision, collisions int32, err error) {
	all, err = r.revisions(set.UID)
	if err != nil {
		return nil, 0, err
	}
	data, err := sidecar.Data(&set.Spec)
	if err != nil {
		return nil, 0, err
	}
	labels, version := maps.Clone(set.Labels), set.Spec.CustomVersion
	if labels == nil {
		labels = map[string]string{}
	}
	// The revisions of all SidecarSets are in one namespace. This label tells whose they are.
	labels[pub.SidecarSetNameKey] = set.Name
	if version != "" {
		labels[pub.SidecarSetCustomVersionKey] = version
	}
	revisions := &engine.Register{Server: r.server, Guard: r.guard, Format: &sidecar.Revisions, Kind: kind, Namespace: r.Namespace}
	content := &history.Content{Data: data, Labels: labels, Annotations: set.Annotations}
	all, count, err := revisions.Newest(ctx, set, all, content, set.Status.CollisionCount)
	collisions = ptr.Deref(count, 0)
	if err != nil {
		return nil, collisions, err
	}
	if newest := all[len(all)-1]; version != "" && newest.Labels[pub.SidecarSetCustomVersionKey] != version {
		newest = newest.DeepCopy()
		metav1.SetMetaDataLabel(&newest.ObjectMeta, pub.SidecarSetCustomVersionKey, version)
		if newest, err = revisions.Update(ctx, set, newest); err != nil {
			return nil, collisions, err
		}
		all = engine.WithNewest(all, newest)
	}
	return all, collisions, nil
}

// trim deletes the oldest revisions beyond the limit that nothing uses. all are the revisions, oldest first. The newest one
// always stays, also with a limit of 0. Revisions in use stay beyond the limit (case 24).
func (r *Reconciler) trim(ctx context.Context, v *view, all []*appsv1.ControllerRevision) error {
	limit := max(1, int(ptr.Deref(v.set.Spec.RevisionHistoryLimit, 10)))
	// Revisions in use count towards the limit.
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

// usedRevisions returns the names of the revisions that must stay: those that Pods record, and the one that is injected into new Pods.
// A Pod with an annotation that cannot be read uses none.
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
	// Of several revisions with the same custom version, the newest is injected.
	for _, revision := range slices.Backward(all) {
		if version := ptr.Deref(injected.CustomVersion, ""); version != "" && revision.Labels[pub.SidecarSetCustomVersionKey] == version {
			used[revision.Name] = true
			break
		}
	}
	return used
}
