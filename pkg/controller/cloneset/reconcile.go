package cloneset

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/podstate"
)

// staleRecheck is how soon a stale cache is looked at again, should the event that refreshes it concern no Pod of the set.
const staleRecheck = 5 * time.Second

// Reconcile brings the CloneSet one step on. Each pass scales, or else updates, and always reports.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	set, err := r.sets.CloneSets(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, fmt.Errorf("get CloneSet: %w", err)
	}
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil || selector.Empty() {
		klog.FromContext(ctx).V(2).Info("Selector is invalid, nothing to do", "err", err)
		return controller.Result{}, nil
	}
	if wait, stale := r.stale(ctx, set); stale {
		return controller.Result{RequeueAfter: wait}, nil
	}
	if wait := r.pace.passIn(set); wait > 0 {
		return controller.Result{RequeueAfter: wait}, nil
	}
	defer r.pace.passed(set)
	v, err := r.observe(set)
	if err != nil {
		return controller.Result{}, err
	}
	return r.sync(ctx, v, selector)
}

// stale tells whether a cache has not seen what an earlier pass wrote for this CloneSet.
func (r *Reconciler) stale(ctx context.Context, set *v1beta1.CloneSet) (time.Duration, bool) {
	pending := r.guard.Ready(set.UID)
	if pending == nil {
		return 0, false
	}
	logger := klog.FromContext(ctx)
	if pending.Remaining <= 0 {
		logger.Error(nil, "Cache did not show a write in time", "resource", pending.Resource,
			"wrote", pending.Wrote, "reached", pending.Reached, "goOn", r.settings.giveUpWaiting)
		r.metrics.Leaked(set.Namespace, set.Name)
		return staleRecheck, !r.settings.giveUpWaiting
	}
	logger.V(4).Info("Cache has not seen an earlier write", "resource", pending.Resource, "wrote", pending.Wrote, "reached", pending.Reached)
	r.metrics.Stale(Name)
	return min(pending.Remaining, staleRecheck), true
}

// observe reads the caches.
func (r *Reconciler) observe(set *v1beta1.CloneSet) (*view, error) {
	v := &view{settings: r.settings, set: set, now: r.clock.Now(), nodeLabels: r.nodeLabels, sightings: r.sighted(set.UID)}
	all, err := controller.ByOwner[*corev1.Pod](r.pods, set.UID)
	if err != nil {
		return nil, err
	}
	v.sortPods(all)
	if v.revisions, err = controller.ByOwner[*appsv1.ControllerRevision](r.revisions, set.UID); err != nil {
		return nil, err
	}
	owned, err := controller.ByOwner[*corev1.PersistentVolumeClaim](r.claims, set.UID)
	if err != nil {
		return nil, err
	}
	for _, claim := range owned {
		if claim.DeletionTimestamp == nil {
			v.claims = append(v.claims, claim)
		}
	}
	return v, nil
}

func (r *Reconciler) nodeLabels(name string) map[string]string {
	node, err := r.nodes.Get(name)
	if err != nil {
		return nil
	}
	return node.Labels
}

func (r *Reconciler) sync(ctx context.Context, v *view, selector labels.Selector) (controller.Result, error) {
	deleted := v.set.DeletionTimestamp != nil
	if leave := v.released(selector); !deleted && len(leave) > 0 {
		if err := r.write.release(ctx, v, leave); err != nil {
			return controller.Result{}, err
		}
		v.handedOver(leave)
	}
	if deleted {
		return controller.Result{}, r.reportDeleted(ctx, v, selector)
	}
	collisions, err := r.syncRevisions(ctx, v)
	if err != nil {
		return controller.Result{}, err
	}
	recheck, result := r.act(ctx, v)
	var scaleHeld, updateHeld bool
	scaleHeld, result.scale = withoutRefusals(result.scale)
	if updateHeld, result.update = withoutRefusals(result.update); scaleHeld || updateHeld {
		recheck = sooner(recheck, refusedRetry)
	}
	status := v.status(selector.String(), result, collisions)
	var reported error
	report := r.pace.reportIn(v.set, &status)
	if report == 0 {
		reported = r.write.status(ctx, v.set, status)
	}
	recheck = sooner(sooner(recheck, report), sooner(v.availableIn(), v.deadlineIn(&status)))
	err = errors.Join(
		result.scale, result.update, reported,
		r.downloads.sync(ctx, v, status.UpdatedReadyReplicas),
		r.write.clearPodsToDelete(ctx, v),
		r.trimHistory(ctx, v),
	)
	return controller.Result{RequeueAfter: recheck}, err
}

// reportDeleted only counts: the garbage collector has what is left of a CloneSet that is being deleted.
func (r *Reconciler) reportDeleted(ctx context.Context, v *view, selector labels.Selector) error {
	old := &v.set.Status
	v.update = &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: old.UpdateRevision}}
	v.current = &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: old.CurrentRevision}}
	return r.write.status(ctx, v.set, v.status(selector.String(), outcome{}, old.CollisionCount))
}

// act makes the changes of one pass. What was changed is seen before more is decided. What a server refused has changed
// nothing: it is reported, and holds up neither the other Pods nor the update that may be the way out.
func (r *Reconciler) act(ctx context.Context, v *view) (recheck time.Duration, result outcome) {
	result.scale = r.cleanClaims(ctx, v)
	acted, err := r.scale(ctx, v)
	result.scale = errors.Join(result.scale, err)
	if acted {
		return 0, result
	}
	changes, recheck, unreadable := v.refresh()
	r.keepSightings(v.set.UID, v.sightings)
	acted, refused := r.write.pods(ctx, v.set, changes)
	if acted {
		result.update = errors.Join(unreadable, refused)
		return recheck, result
	}
	v.refused = changes
	plan, err := v.updates()
	result.update, result.decided = errors.Join(unreadable, refused, err, r.write.updates(ctx, v, plan)), true
	return recheck, result
}

// availableIn returns when a ready Pod will have been ready for long enough.
func (v *view) availableIn() (soonest time.Duration) {
	for _, pod := range v.pods {
		soonest = sooner(soonest, podstate.AvailableIn(pod, v.set.Spec.MinReadySeconds, v.now))
	}
	return soonest
}
