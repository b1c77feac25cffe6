package containerrestart

import (
	"context"
	"reflect"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/delay"
	"kruise.io/kruise/pkg/reconcile"
)

// holdWidth is how many waiting requests of a Pod are updated in parallel. Each one must be answered within a minute,
// see hold.
const holdWidth = 16

// drainMargin is added to the grace period of a drain, to allow for small clock differences.
const drainMargin = 100 * time.Millisecond

// reconcile makes one step for the requests of one Pod. While a container of the Pod is being stopped, it does
// nothing; the end of the stop enqueues the Pod again.
func (c *Controller) reconcile(ctx context.Context, pod types.NamespacedName) (reconcile.Result, error) {
	if busy, err := c.stops.Outcome(pod); busy || err != nil {
		return reconcile.Result{KeepFailures: true}, err
	}
	waiting := queue(c.ofPod(pod))
	if len(waiting) == 0 {
		return reconcile.Result{}, nil
	}
	// Deciding before the watch shows our last write would repeat the step.
	var unseen time.Duration
	for _, r := range waiting {
		unseen = max(unseen, c.written.Unseen(r))
	}
	if unseen > 0 {
		return reconcile.Result{RequeueAfter: unseen}, nil
	}
	return c.proceed(ctx, pod, waiting[0])
}

// ofPod returns the cached requests of a Pod. The index has the UID only, so the namespace is compared too.
func (c *Controller) ofPod(pod types.NamespacedName) (requests []*request) {
	items, err := c.informer.GetIndexer().ByIndex(podIndex, pod.Name)
	if err != nil {
		return nil // ByIndex cannot fail, because New adds the index.
	}
	for _, item := range items {
		if r, ok := item.(*request); ok && r.Namespace == pod.Namespace {
			requests = append(requests, r)
		}
	}
	return requests
}

// hold sets the waiting message of all requests of a Pod that cannot begin: all except the first, and the first too while a container
// of the Pod is being stopped for a request that has ended. The controller ends a request that no agent has answered within a minute.
// Its queue is separate, so a slow step of the first request does not delay the answers of the others.
func (c *Controller) hold(ctx context.Context, pod types.NamespacedName) (reconcile.Result, error) {
	waiting := queue(c.ofPod(pod))
	var group errgroup.Group
	group.SetLimit(holdWidth)
	for i, r := range waiting {
		message := stillStopping
		switch {
		case i > 0:
			message = waitingFor(waiting[i-1])
		case !c.stops.Busy(pod):
			continue
		}
		if mayWait(r.Status.Phase) && (r.Status.Phase == "" || r.Status.Message != message) && c.written.Unseen(r) == 0 {
			group.Go(func() error {
				return c.report(ctx, r, func(status *v1beta1.ContainerRecreateRequestStatus) {
					status.Phase, status.Message = v1beta1.ContainerRecreateRequestPending, message
				})
			})
		}
	}
	return reconcile.Result{}, group.Wait()
}

// proceed makes one step for the first request in the queue. It writes the phase before it does anything else, so
// that other agents' passes and the controller see that the request has started. A write of the states comes before
// the next stop, so the status never lacks a container that was stopped.
func (c *Controller) proceed(ctx context.Context, pod types.NamespacedName, r *request) (reconcile.Result, error) {
	if r.Status.Phase != v1beta1.ContainerRecreateRequestRecreating {
		klog.FromContext(ctx).V(2).Info("Beginning", "request", klog.KObj(r))
		return reconcile.Result{}, c.report(ctx, r, func(status *v1beta1.ContainerRecreateRequestStatus) {
			status.Phase, status.Message = v1beta1.ContainerRecreateRequestRecreating, ""
		})
	}
	now := c.config.Clock.Now()
	if wait, ready := drained(r, now); !ready {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	// Without its runtime, the request can never be carried out.
	runtime, scheme, err := c.runtimeOf(r)
	if err != nil {
		return reconcile.Result{}, c.complete(ctx, r, r.Status.ContainerRecreateStates, "failed to find runtime service: "+err.Error())
	}
	instances, err := c.observe(ctx, runtime, scheme, r)
	if err != nil {
		return reconcile.Result{}, err
	}
	// The decision is made from the request and the runtime alone.
	states, again := statesOf(r, instances, now)
	step := next(r, states, instances)
	switch {
	case step.done:
		return reconcile.Result{}, c.complete(ctx, r, states, "")
	case !reflect.DeepEqual(states, r.Status.ContainerRecreateStates):
		// The end of a wait causes no event, so set RequeueAfter as well.
		return reconcile.Result{RequeueAfter: again}, c.reportStates(ctx, r, states)
	case step.stop >= 0:
		// A stop that begins is no success yet. A container that does not start fails each one.
		err := c.stop(ctx, pod, runtime, r, states, step.stop, instances[states[step.stop].Name])
		return reconcile.Result{KeepFailures: true}, err
	case step.missing:
		return reconcile.Result{RequeueAfter: missingDelay(r, now)}, nil
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// drained returns true when the Pod has been out of service for the grace period of the request. Otherwise wait is
// the remaining time. A zero wait means that the controller has not taken the Pod out of service yet; the change of
// the condition will be an event. The condition carries the time, so an agent that restarts does not start the period
// again.
func drained(r *request, now time.Time) (wait time.Duration, ready bool) {
	grace := r.Spec.Strategy.UnreadyGracePeriodSeconds
	if grace == nil {
		return 0, true
	}
	i := slices.IndexFunc(r.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == v1beta1.ContainerRecreateRequestConditionPreRecreateGrace && c.Status == metav1.ConditionTrue
	})
	if i < 0 {
		return 0, false
	}
	end := r.Status.Conditions[i].LastTransitionTime.Add(delay.Seconds(*grace))
	if *grace == 0 || !end.After(now) {
		return 0, true
	}
	return end.Sub(now) + drainMargin, false
}

// missingDelay returns the delay until the next look for a missing container. It grows with the age of the request,
// from baseDelay to maxDelay.
func missingDelay(r *request, now time.Time) time.Duration {
	return min(max(now.Sub(r.CreationTimestamp.Time)/2, baseDelay), maxDelay)
}
