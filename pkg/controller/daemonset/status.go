package daemonset

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	client "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/health"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/podstate"
)

// status computes the status from what the pass observed. A pass with a failure does not count as having observed the generation. A
// rollout is therefore not complete for clients that wait for observedGeneration while Pods cannot be created.
func (p *planner) status(outcome *engine.Outcome) v1beta1.DaemonSetStatus {
	old := &p.set.Status
	status := v1beta1.DaemonSetStatus{
		DesiredNumberScheduled: int32(p.desired), ObservedGeneration: old.ObservedGeneration, CollisionCount: outcome.CollisionCount,
		Conditions: old.Conditions, UpdateRevision: old.UpdateRevision,
	}
	// The revision label of Pods is the hash, so clients can compare it with the status.
	if outcome.Revision != nil {
		status.UpdateRevision = history.ShortHash(outcome.Revision.Name)
	}
	if outcome.Revision != nil && outcome.Scale == nil && outcome.Update == nil {
		status.ObservedGeneration = p.set.Generation
	}
	for _, at := range p.places {
		switch {
		case len(at.pods) == 0 || at.node == nil:
		// Here, Pods run although none is to run.
		case !at.run:
			status.NumberMisscheduled++
		default:
			status.CurrentNumberScheduled++
			// During a surge a node has two Pods. It counts once, by the older one, as in Kubernetes.
			first := slices.IndexFunc(at.pods, fills)
			if first < 0 {
				continue
			}
			oldest := at.pods[first]
			ready := p.Ready(oldest)
			status.NumberReady += int32(one(ready))
			// A Pod that the hook of its deletion holds serves until it is deleted.
			status.NumberAvailable += int32(one(ready && podstate.AvailableIn(oldest, p.MinReadySeconds, p.Now) == 0))
			status.UpdatedNumberScheduled += int32(one(p.Updated(oldest)))
		}
	}
	status.NumberUnavailable = status.DesiredNumberScheduled - status.NumberAvailable
	// The conditions Reconciling and Stalled are derived from the new counts, so they come last.
	judged := *p.set
	judged.Status = status
	status.Conditions = conditions.Set(old.Conditions, p.progress(&judged), metav1.NewTime(p.Now).Rfc3339Copy())
	return status
}

// progress is what the conditions sum up. Nodes that a selector of the update, or partitionedScaling, leaves out are as the spec asks for.
// An error of the numbers is one of the plan, which reports it.
func (p *planner) progress(set *v1beta1.DaemonSet) *kinds.Progress {
	amounts, err := p.amounts()
	if err != nil || !kinds.LeavesNodesOut(set) {
		return kinds.ProgressOf(set)
	}
	target := 0
	for _, at := range p.chosen(amounts.partition) {
		target += one(at.run)
	}
	missing := p.missing()
	return kinds.ProgressOfDaemonSet(set, target, p.desired-len(missing)+len(p.progressive(missing, amounts.partition)))
}

// conditions gives access to conditions of DaemonSets.
var conditions = health.Conditions[appsv1.DaemonSetCondition]{
	New: func(conditionType string, now metav1.Time) appsv1.DaemonSetCondition {
		return appsv1.DaemonSetCondition{
			Type: appsv1.DaemonSetConditionType(conditionType), Status: corev1.ConditionTrue, LastTransitionTime: now,
		}
	},
	Fields: func(c *appsv1.DaemonSetCondition) (conditionType string, reason, message *string) {
		return string(c.Type), &c.Reason, &c.Message
	},
}

// sameStatus compares semantically, so a nil list equals an empty one.
func sameStatus(a, b *v1beta1.DaemonSetStatus) bool { return apiequality.Semantic.DeepEqual(a, b) }

// urgent reports whether a status must not wait: it says more than other counts, or the rollout is complete. Other counts change
// again soon.
func urgent(before, after *v1beta1.DaemonSetStatus) bool {
	counted := *after
	counted.CurrentNumberScheduled, counted.NumberMisscheduled = before.CurrentNumberScheduled, before.NumberMisscheduled
	counted.NumberReady, counted.UpdatedNumberScheduled = before.NumberReady, before.UpdatedNumberScheduled
	counted.NumberAvailable, counted.NumberUnavailable = before.NumberAvailable, before.NumberUnavailable
	// The conditions that sum up the counts do not say more than the counts.
	known := *before
	known.Conditions, counted.Conditions = conditions.Others(before.Conditions), conditions.Others(after.Conditions)
	complete := after.NumberUnavailable == 0 && after.UpdatedNumberScheduled == after.DesiredNumberScheduled
	return complete || !sameStatus(&known, &counted)
}

// statusWriter writes the statuses of DaemonSets.
type statusWriter = controller.StatusWriter[*v1beta1.DaemonSet, v1beta1.DaemonSetStatus]

// newStatusWriter returns the writer of statuses. pace is shared by all DaemonSets, and keeps its times by UID.
func newStatusWriter(sets client.DaemonSetsGetter, guard engine.Guard, pace *engine.Pace) *statusWriter {
	return &statusWriter{
		Resource: daemonsets.GroupResource(), Guard: guard, Pace: pace,
		Client: func(namespace string) controller.StatusClient[*v1beta1.DaemonSet] { return sets.DaemonSets(namespace) },
		Of:     func(set *v1beta1.DaemonSet) *v1beta1.DaemonSetStatus { return &set.Status },
	}
}
