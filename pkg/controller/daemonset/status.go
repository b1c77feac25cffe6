package daemonset

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	client "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/history"
)

// status computes the status from what the pass observed. A pass with a failure does not count as having observed the generation.
func (p *planner) status(outcome *engine.Outcome) v1beta1.DaemonSetStatus {
	old := &p.set.Status
	status := v1beta1.DaemonSetStatus{
		DesiredNumberScheduled: int32(p.desired), ObservedGeneration: old.ObservedGeneration, CollisionCount: outcome.CollisionCount,
		Conditions: old.Conditions, UpdateRevision: old.UpdateRevision,
	}
	if outcome.Revision != nil {
		status.UpdateRevision = history.ShortHash(outcome.Revision.Name)
	}
	if outcome.Revision != nil && outcome.Scale == nil && outcome.Update == nil {
		status.ObservedGeneration = p.set.Generation
	}
	for _, at := range p.places {
		switch {
		case len(at.pods) == 0 || at.node == nil:
		case !at.run:
			status.NumberMisscheduled++
		default:
			oldest := at.pods[0]
			ready := p.Ready(oldest)
			status.CurrentNumberScheduled++
			status.NumberReady += int32(one(ready))
			status.NumberAvailable += int32(one(ready && p.Available(oldest)))
			status.UpdatedNumberScheduled += int32(one(p.Updated(oldest)))
		}
	}
	status.NumberUnavailable = status.DesiredNumberScheduled - status.NumberAvailable
	return status
}

func sameStatus(a, b *v1beta1.DaemonSetStatus) bool { return apiequality.Semantic.DeepEqual(a, b) }

// urgent reports whether a status must not wait: it says more than other counts, or the rollout is complete.
func urgent(before, after *v1beta1.DaemonSetStatus) bool {
	counted := *after
	counted.CurrentNumberScheduled, counted.NumberMisscheduled = before.CurrentNumberScheduled, before.NumberMisscheduled
	counted.NumberReady, counted.UpdatedNumberScheduled = before.NumberReady, before.UpdatedNumberScheduled
	counted.NumberAvailable, counted.NumberUnavailable = before.NumberAvailable, before.NumberUnavailable
	complete := after.NumberUnavailable == 0 && after.UpdatedNumberScheduled == after.DesiredNumberScheduled
	return complete || !sameStatus(before, &counted)
}

// statusWriter writes the statuses of DaemonSets.
type statusWriter = controller.StatusWriter[*v1beta1.DaemonSet, v1beta1.DaemonSetStatus]

func newStatusWriter(sets client.DaemonSetsGetter, guard engine.Guard, pace *engine.Pace) *statusWriter {
	return &statusWriter{
		Resource: daemonsets.GroupResource(), Guard: guard, Pace: pace,
		Client: func(namespace string) controller.StatusClient[*v1beta1.DaemonSet] { return sets.DaemonSets(namespace) },
		Of:     func(set *v1beta1.DaemonSet) *v1beta1.DaemonSetStatus { return &set.Status },
	}
}
