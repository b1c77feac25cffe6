package cloneset

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podcontrol"
)

// scale carries out what the view decides about the number of Pods, and tells whether that changed anything. A creation that
// is refused, for want of quota for example, holds up no deletion.
func (r *Reconciler) scale(ctx context.Context, v *view) (acted bool, err error) {
	plan, err := v.scale(true)
	if err != nil {
		return false, err
	}
	acted, err = r.carryOut(ctx, v, plan)
	if err == nil || acted || !plan.creates() {
		return acted, err
	}
	plan, rest := v.scale(false)
	if rest == nil {
		acted, rest = r.carryOut(ctx, v, plan)
	}
	return acted, errors.Join(err, rest)
}

func (r *Reconciler) carryOut(ctx context.Context, v *view, plan scaling) (acted bool, err error) {
	if plan.limit >= 0 && (plan.creates() || v.set.Generation != v.set.Status.ObservedGeneration) {
		// While nothing changes, nothing is said again.
		r.recorder.Eventf(v.set, corev1.EventTypeWarning, "ScaleUpLimited",
			"scaleUp is limited because of scaleStrategy.maxUnavailable, limit: %d", plan.limit)
	}
	created, createErr := r.create(ctx, v, plan)
	changed, changeErr := r.write.pods(ctx, v.set, plan.changes)
	deleted, deleteErr := r.write.deletePods(ctx, v, plan.delete)
	return created || changed || deleted, errors.Join(createErr, changeErr, deleteErr)
}

// create makes the Pods that are missing, those at the current revision first, and tells whether there is any more.
func (r *Reconciler) create(ctx context.Context, v *view, plan scaling) (acted bool, err error) {
	if !plan.creates() {
		return false, nil
	}
	older, err := v.blueprint(v.current)
	if err != nil {
		return false, err
	}
	newer, err := v.blueprint(v.update)
	if err != nil {
		return false, err
	}
	total := plan.createOld + plan.createNew
	ids := v.newIDs(total)
	var effects effects
	_, err = podcontrol.SlowStart(total, func(i int) error {
		blueprint := newer
		if i < plan.createOld {
			blueprint = older
		}
		return effects.note(r.write.createInstance(ctx, v, blueprint, ids[i]))
	})
	return effects.any(), err
}

func (v *view) blueprint(revision *appsv1.ControllerRevision) (*podcontrol.Blueprint, error) {
	template, err := v.template(revision)
	if err != nil {
		return nil, fmt.Errorf("create Pods: %w", err)
	}
	return &podcontrol.Blueprint{
		Owner: ownerRef(v.set), Name: v.set.Name, Namespace: v.set.Namespace, Template: template, Revision: revision.Name,
		ShortHash: v.shortHash, ClaimTemplates: v.set.Spec.VolumeClaimTemplates, MatchLabels: v.set.Spec.Selector.MatchLabels,
	}, nil
}

// newIDs returns instance IDs for new Pods: first those of claims that lost their Pod, if claims are reused, then new ones.
func (v *view) newIDs(n int) (ids []string) {
	taken := map[string]bool{}
	for _, pod := range append(append([]*corev1.Pod{}, v.pods...), v.inactive...) {
		taken[pod.Labels[pub.CloneSetInstanceIDKey]] = true
	}
	for _, claim := range v.claims {
		id := claim.Labels[pub.CloneSetInstanceIDKey]
		if id != "" && !taken[id] && v.set.Spec.ScaleStrategy.EnablePVCReuse && len(ids) < n {
			ids = append(ids, id)
		}
		taken[id] = true
	}
	for len(ids) < n {
		ids = append(ids, podcontrol.NewID(taken))
	}
	return ids
}
