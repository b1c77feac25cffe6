package uniteddeployment

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/podstate"
)

// stuckAfter is how long a Pod must not be ready before it counts as stuck. A Pod that only starts slowly is not deleted.
const stuckAfter = 30 * time.Second

// unblock deletes Pods at which the update of a StatefulSet of Kubernetes is stuck: it waits until a Pod of an old revision is ready,
// although the update will replace this Pod. The StatefulSet then creates the Pod at the update revision. A deletion applies only to
// the UID that was read, so the replacement is never deleted.
func (r *Reconciler) unblock(ctx context.Context, p *pass) error {
	var failures []error
	for _, s := range p.subsets {
		for _, pod := range p.stuck(s) {
			err := r.server.DeletePod(ctx, pod)
			if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
				continue
			}
			if err != nil {
				failures = append(failures, fmt.Errorf("delete stuck Pod %s: %w", pod.Name, err))
				continue
			}
			r.guard.Deleted(p.united.UID, engine.PodResource.GroupResource(), pod)
		}
	}
	return errors.Join(failures...)
}

// stuck returns the stuck Pods of a subset: those above the partition, at an old revision, and not ready for stuckAfter. The workload
// must know the update revision already, or it would create the same Pod again. So outdated workloads, and those whose controller has
// not observed the newest spec, have no stuck Pods.
func (p *pass) stuck(s *subset) (stuck []*corev1.Pod) {
	c := s.child
	if c == nil || !c.gapsStop || c.partition == nil || p.outdated(s) || c.counts.observed < c.GetGeneration() {
		return nil
	}
	for _, pod := range s.pods {
		ordinal, err := strconv.Atoi(pod.Name[strings.LastIndexByte(pod.Name, '-')+1:])
		// The revision is that of the StatefulSet, because a change of the subset's patch makes no new revision of the UnitedDeployment.
		old := pod.Labels[appsv1.StatefulSetRevisionLabel] != c.counts.revision
		// A Pod below the partition keeps its revision, so its deletion would help nothing. A name without an ordinal is not one of the
		// StatefulSet.
		if err != nil || ordinal-int(c.first) < int(s.partition) || !old || podstate.ConditionReady(pod) {
			continue
		}
		since := pod.CreationTimestamp
		// A Pod that never got the condition Ready is not ready since its creation.
		if ready := podstate.Condition(pod, corev1.PodReady); ready != nil && !ready.LastTransitionTime.IsZero() {
			since = ready.LastTransitionTime
		}
		if left := since.Add(stuckAfter).Sub(p.now); left > 0 {
			p.again(left)
			continue
		}
		stuck = append(stuck, pod)
	}
	return stuck
}
