package sidecarset

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/passes"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// Reconcile runs a pass over the SidecarSet, unless its pace asks to wait. A change by the user never waits. After a write without an
// answer, this call only reads the Pods. The queue then calls again at once, and the guard lets the pass begin when the cache shows
// them.
func (r *Reconciler) Reconcile(ctx context.Context, set *v1beta1.SidecarSet) (reconcile.Result, error) {
	if set.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	// After an error, the queue waits longer and longer.
	if found, err := r.find(ctx, set); err != nil {
		return reconcile.Result{}, err
	} else if found {
		return reconcile.Result{RequeueAfter: 1, KeepFailures: true}, nil
	}
	// A new generation has not been counted yet, so it is never delayed.
	if set.Generation == set.Status.ObservedGeneration {
		if wait := r.pace.PassIn(set.UID, int(set.Status.MatchedPods)); wait > 0 {
			return reconcile.Result{RequeueAfter: wait, KeepFailures: true}, nil
		}
	}
	v, err := r.observe(set)
	if err != nil {
		return reconcile.Result{}, err
	}
	// The pause counts from the end of the pass.
	defer r.pace.Passed(set.UID, len(v.pods))
	if err := r.pass(ctx, v); err != nil {
		return reconcile.Result{}, err
	}
	return v.next(), nil
}

// next returns when the next pass is due even if nothing changes. Not every write of a pass is an event that causes the next one.
func (v *view) next() reconcile.Result {
	if v.unfinished {
		return reconcile.Result{RequeueAfter: passes.Continue, KeepFailures: true}
	}
	return reconcile.Result{RequeueAfter: v.lookAgain}
}

// pass stores the revision and the status, and then changes Pods. The revision must be stored first, because the status and the records
// of the Pods name it. The status is written before the Pods change, so it shows what this pass found. Flips end the pass: they finish
// upgrades that have begun, and change what the next choice sees. Flips that are all refused, for example by a budget, do not hold up
// the other Pods.
func (r *Reconciler) pass(ctx context.Context, v *view) error {
	set := v.set
	revisions, collisions, err := r.register(ctx, set)
	if err != nil {
		return err
	}
	latest := revisions[len(revisions)-1].Name
	if err := r.trim(ctx, v, revisions); err != nil {
		return err
	}
	if err := r.report(ctx, v, latest, collisions); err != nil {
		return err
	}
	strategy := &set.Spec.UpdateStrategy
	// The counts are kept up to date all the same.
	if strategy.Type == v1beta1.NotUpdateSidecarSetStrategyType || strategy.Paused {
		return nil
	}
	var flips []*corev1.Pod
	for i := range v.pods {
		if sidecar.FlipDue(set, v.pods[i].Pod) {
			flips = append(flips, v.pods[i].Pod)
		}
	}
	flipped, flipErr := r.flip(ctx, v, flips)
	if flipped > 0 {
		return flipErr
	}
	// The Pods are as the caches showed them at the start. Each write decides again on what it replaces.
	chosen, err := v.choose()
	if err != nil {
		return errors.Join(flipErr, err)
	}
	allowed := r.each(v, chosen.allowed, func(pod *corev1.Pod) error { return r.setUpgradable(ctx, set, pod, true) })
	return errors.Join(flipErr, allowed, r.refuse(ctx, v, chosen.refused), r.upgrade(ctx, v, chosen.upgrade, latest))
}
