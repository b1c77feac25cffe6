package sidecarset

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
)

// mostNames is how many Pods an event names. The status and the metric have the complete number.
const mostNames = 5

// report writes the status, and reports Pods that were created without injection. The event is sent only when their number grows, so
// that it does not repeat at each pass.
func (r *Reconciler) report(ctx context.Context, v *view, latest string, collisions int32) error {
	set := v.set
	missing := int32(len(v.missing))
	r.Metrics.set(set.Name, len(v.missing))
	if missing > set.Status.UninjectedPods {
		names := v.missing[:min(len(v.missing), mostNames)]
		more := ""
		if len(names) < len(v.missing) {
			more = ", and more"
		}
		remedy := "recreate them"
		if v.clash != "" {
			remedy = v.clash + "; then recreate them"
		}
		r.recorder.Eventf(set, corev1.EventTypeWarning, "PodsNotInjected",
			"%d Pods were created without the containers of this SidecarSet; %s: %s%s", missing, remedy, strings.Join(names, ", "), more)
	}
	stored, err := controller.UpdateStatus(ctx, r.client, set, func(fresh *v1beta1.SidecarSet) error {
		status := &fresh.Status
		v.count(status)
		// After a conflict, fresh can be newer than the set of this pass.
		status.ObservedGeneration = max(status.ObservedGeneration, set.Generation)
		status.LatestRevision, status.CollisionCount, status.UninjectedPods = latest, &collisions, missing
		return nil
	})
	if err != nil {
		return err
	}
	if stored != nil && stored.ResourceVersion != set.ResourceVersion {
		r.guard.Wrote(set.UID, resource.GroupResource(), stored.ResourceVersion)
	}
	return nil
}

// count counts the Pods into a status. A Pod is ready only if the node has completed the last upgrade of its sidecars: the readiness in
// its status can still be that of the old containers.
func (v *view) count(status *v1beta1.SidecarSetStatus) {
	status.MatchedPods, status.UpdatedPods, status.ReadyPods, status.UpdatedReadyPods = int32(len(v.pods)), 0, 0, 0
	for i := range v.pods {
		ready := v.pods[i].ready && v.pods[i].consistent
		if v.pods[i].updated {
			status.UpdatedPods++
		}
		if ready {
			status.ReadyPods++
		}
		if ready && v.pods[i].updated {
			status.UpdatedReadyPods++
		}
	}
}
