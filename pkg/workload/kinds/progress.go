package kinds

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/rollout"
)

// Progress is how far an object has rolled out its newest revision, as its status says.
type Progress struct {
	// Target is the desired number of Pods at the newest revision. The partition is not part of it.
	Target int
	// Updated is how many Pods are at the newest revision, and Available how many of them are available.
	Updated, Available int
	// Wanted is the desired number of Pods at any revision, Existing how many do, and Serving how many of these are available.
	Wanted, Existing, Serving int
	// Observed is false while the status describes an older spec.
	Observed bool
	// Paused is true if the object says that its rollout does not proceed, or if its Pods are updated only when they are deleted.
	Paused bool
	// OnDelete is true if Pods are updated only when they are deleted.
	OnDelete bool
	// Exceeded is true if the rollout has taken longer than its deadline.
	Exceeded bool
}

// Done reports whether the rollout is complete: the status is about the newest spec, and as many Pods as desired are updated
// and available.
func (p *Progress) Done() bool {
	return p.Observed && p.Updated >= p.Target && p.Available >= p.Target
}

// Reasons why an object is not in the state that its spec asks for. Users see them in conditions.
const (
	RolloutPaused   = "RolloutPaused"
	RolloutUnderWay = "RolloutUnderWay"
	PodsMissing     = "PodsMissing"
	PodsSurplus     = "PodsSurplus"
	PodsUnavailable = "PodsUnavailable"
)

// Unsettled returns why the Pods are not as the spec asks for, or empty strings if they are. Old Pods that a partition or OnDelete keeps
// are as the spec asks for. The message has no numbers, so that it stays the same while the numbers change.
func (p *Progress) Unsettled() (reason, message string) {
	behind := !p.OnDelete && p.Updated < p.Target
	switch {
	case behind && p.Paused:
		return RolloutPaused, "The rollout is paused, and Pods of older revisions are left"
	case p.Existing < p.Wanted:
		return PodsMissing, "Pods are not created yet"
	case behind:
		return RolloutUnderWay, "Pods of older revisions are left"
	case p.Existing > p.Wanted:
		return PodsSurplus, "Pods are not deleted yet"
	case p.Serving < p.Wanted, !p.OnDelete && p.Available < p.Target:
		return PodsUnavailable, "Pods are not available"
	}
	return "", ""
}

// ProgressOf returns how far an object has rolled out its newest revision, or nil if that is not known.
func ProgressOf(object runtime.Object) *Progress {
	if kind := OfObject(object); kind != nil && kind.Progress != nil {
		return kind.Progress(object)
	}
	return nil
}

// progress adapts a function for one type. It returns nil for objects of other types, and for those whose partition is not valid.
func progress[T any](of func(*T) (*Progress, error)) func(runtime.Object) *Progress {
	return func(object runtime.Object) *Progress {
		typed, ok := any(object).(*T)
		if !ok {
			return nil
		}
		if p, err := of(typed); err == nil {
			return p
		}
		return nil
	}
}

// target returns how many of the Pods a partition lets be updated. It returns an error if the partition is not valid.
func target(pods int, partition *intstr.IntOrString) (int, error) {
	old, err := rollout.Partition(partition, pods)
	return pods - old, err
}

// progressOfCloneSet reads the progress of a CloneSet. The condition Progressing is False only after its deadline.
func progressOfCloneSet(set *v1beta1.CloneSet) (*Progress, error) {
	p := &Progress{
		Updated: int(set.Status.UpdatedReplicas), Available: int(set.Status.UpdatedAvailableReplicas),
		Observed: set.Status.ObservedGeneration >= set.Generation,
		Wanted:   replicasOr1(set.Spec.Replicas), Existing: int(set.Status.Replicas), Serving: int(set.Status.AvailableReplicas),
		OnDelete: set.Spec.UpdateStrategy.Type == v1beta1.OnDeleteCloneSetStrategyType,
	}
	rolling := RollingUpdateOf(set)
	p.Paused = p.OnDelete || rolling.Paused
	for i := range set.Status.Conditions {
		condition := &set.Status.Conditions[i]
		p.Exceeded = p.Exceeded || condition.Type == v1beta1.CloneSetConditionProgressing && condition.Status == corev1.ConditionFalse
	}
	var err error
	p.Target, err = target(p.Wanted, rolling.Partition)
	return p, err
}

// RollingUpdateOf returns the settings that are in force for the updates of a CloneSet. It never returns nil. Without the block, Pods
// are recreated. Under OnDelete, partition, maxSurge and paused have no effect: the user alone decides which Pods are replaced, and all
// new Pods are at the update revision. The spec keeps them, so a client reads back what it wrote.
func RollingUpdateOf(set *v1beta1.CloneSet) *v1beta1.RollingUpdateCloneSetStrategy {
	rolling := v1beta1.RollingUpdateCloneSetStrategy{PodUpdatePolicy: pub.ReCreatePodUpdatePolicy}
	if block := set.Spec.UpdateStrategy.RollingUpdate; block != nil {
		rolling = *block
	}
	if set.Spec.UpdateStrategy.Type == v1beta1.OnDeleteCloneSetStrategyType {
		rolling.Partition, rolling.MaxSurge, rolling.Paused = nil, nil, false
	}
	return &rolling
}

// progressOfStatefulSet reads the progress of a StatefulSet. Its partition is a number of Pods, never a percentage.
func progressOfStatefulSet(set *v1beta1.StatefulSet) (*Progress, error) {
	p := &Progress{
		Target: replicasOr1(set.Spec.Replicas), Updated: int(set.Status.UpdatedReplicas), Available: int(set.Status.UpdatedAvailableReplicas),
		Observed: set.Status.ObservedGeneration >= set.Generation,
		Wanted:   replicasOr1(set.Spec.Replicas), Existing: int(set.Status.Replicas), Serving: int(set.Status.AvailableReplicas),
		OnDelete: set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType,
	}
	p.Paused = p.OnDelete
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		p.Paused = p.Paused || rolling.Paused
		p.Target = max(0, p.Target-int(ptr.Deref(rolling.Partition, 0)))
	}
	return p, nil
}

// Reconciling is the type of the condition that is true while the Pods of an object are not as its spec asks for.
const Reconciling = "Reconciling"

// progressOfDaemonSet reads the progress of a DaemonSet. The status does not say how many nodes a selector of the update, or
// partitionedScaling, leaves out. Only the controller knows, and its condition says whether the others are as the spec asks for.
func progressOfDaemonSet(set *v1beta1.DaemonSet) (*Progress, error) {
	status := &set.Status
	wanted := int(status.DesiredNumberScheduled)
	// Under OnDelete, the block has no effect.
	var partition *intstr.IntOrString
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil && !deletedByUsers(set) {
		partition = rolling.Partition
	}
	old, err := rollout.DaemonSetPartition(partition, wanted)
	if err != nil {
		return nil, err
	}
	target := wanted - old
	if LeavesNodesOut(set) && status.ObservedGeneration >= set.Generation && !reconciling(status) {
		target, wanted = min(target, int(status.UpdatedNumberScheduled)), min(wanted, int(status.CurrentNumberScheduled))
	}
	return ProgressOfDaemonSet(set, target, wanted), nil
}

// LeavesNodesOut reports whether the spec of a DaemonSet leaves nodes out of its rollout in another way than by a number.
func LeavesNodesOut(set *v1beta1.DaemonSet) bool {
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	return !deletedByUsers(set) && (rolling != nil && rolling.Selector != nil || set.Spec.ScaleStrategy.PartitionedScaling)
}

func deletedByUsers(set *v1beta1.DaemonSet) bool {
	return set.Spec.UpdateStrategy.Type == v1beta1.OnDeleteDaemonSetStrategyType
}

func reconciling(status *v1beta1.DaemonSetStatus) bool {
	return slices.ContainsFunc(status.Conditions, func(c appsv1.DaemonSetCondition) bool {
		return c.Type == Reconciling && c.Status == corev1.ConditionTrue
	})
}

// ProgressOfDaemonSet returns the progress of a DaemonSet. target is how many nodes are to be updated, and wanted how many are to have a
// Pod. It counts an updated Pod as available unless more of all Pods are unavailable: the status does not say which. So a rollout seems
// slower than it is while old Pods are unavailable, and never faster.
func ProgressOfDaemonSet(set *v1beta1.DaemonSet, target, wanted int) *Progress {
	status := &set.Status
	p := &Progress{
		Target: target, Updated: int(status.UpdatedNumberScheduled), Observed: status.ObservedGeneration >= set.Generation,
		Wanted: wanted, Existing: int(status.CurrentNumberScheduled), Serving: int(status.NumberAvailable), OnDelete: deletedByUsers(set),
	}
	p.Available = max(0, p.Updated-max(0, wanted-p.Serving))
	p.Paused = p.OnDelete
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil && !p.OnDelete {
		p.Paused = ptr.Deref(rolling.Paused, false)
	}
	return p
}

func replicasOr1(replicas *int32) int { return int(ptr.Deref(replicas, 1)) }
