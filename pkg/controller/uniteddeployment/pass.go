package uniteddeployment

import (
	"cmp"
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/delay"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/podstate"
)

// child is a workload of a UnitedDeployment, with the adapter of its kind and pointers to its fields. The workload belongs to the
// cache, so the fields are only read.
type child struct {
	controller.Object
	*adapter
	parts
	// duplicate is true if an older workload is that of the subset.
	duplicate bool
}

// subset is what a pass knows and decides about a subset. observe sets child and pods, judge the marks and counts of reserved Pods, and
// allocate replicas and partition.
type subset struct {
	*v1beta1.Subset
	// child is the subset's workload, or nil. pods are its active Pods.
	child *child
	pods  []*corev1.Pod
	// before is what the status says of the subset, or nil. schedulable is its condition after the pass, or nil.
	before      *v1beta1.UnitedDeploymentSubsetStatus
	schedulable *v1beta1.UnitedDeploymentSubsetCondition
	// marked is true if the subset was unschedulable at the start of the pass.
	marked bool
	// reserved is the number of reserved Pods, unseen how many Pods of a marked subset are not in the cache yet, and timedOut how
	// many of the reserved Pods were not updated in time.
	reserved, unseen, timedOut int32
	// replicas and partition are the desired values of the workload. partition is how many of the replicas stay at their old revision.
	replicas, partition int32
}

// current returns the replicas in the spec of the subset's workload, or 0 if there is none. This is what the controller wrote last, not
// how many Pods exist.
func (s *subset) current() int32 {
	if s.child == nil || *s.child.replicas == nil {
		return 0
	}
	return **s.child.replicas
}

// counts returns what the workload's status says, or zeros if there is no workload.
func (s *subset) counts() counts {
	if s.child == nil {
		return counts{}
	}
	return s.child.counts
}

// pass is what one reconcile of a UnitedDeployment knows and decides. One goroutine uses it, and it ends with the reconcile. Only the
// writes of execute run concurrently, and they only read it.
type pass struct {
	united *v1beta1.UnitedDeployment
	now    time.Time
	// total is the wanted number of Pods.
	total int32
	// revisions are all revisions, oldest first. update is that of the template, and label its label on workloads and Pods.
	revisions []*appsv1.ControllerRevision
	// collisions goes to status.collisionCount: it changes the hash of the next revision if the name of one was already taken.
	collisions *int32
	update     *appsv1.ControllerRevision
	label      string
	// using is the adapter of the template.
	using *adapter
	// children are all workloads. extra are those to delete.
	children, extra []*child
	// subsets are in the order of the topology.
	subsets []*subset
	// wait is the delay until time alone changes a decision, or zero.
	wait time.Duration
	// reword reports whether the new message of a failure that lasts since this time may be written.
	reword func(since time.Time) bool
}

// again makes the controller reconcile after the delay at the latest. A delay of zero or less changes nothing, so callers can pass the
// time that is left until a deadline without a check.
func (p *pass) again(after time.Duration) { p.wait = delay.Sooner(p.wait, after) }

// adaptive returns the settings of the schedule strategy Adaptive, or nil. If the strategy has no settings, they are empty, and limits
// gives the defaults.
func (p *pass) adaptive() *v1beta1.AdaptiveUnitedDeploymentStrategy {
	strategy := &p.united.Spec.Topology.ScheduleStrategy
	if strategy.Type != v1beta1.AdaptiveUnitedDeploymentScheduleStrategyType {
		return nil
	}
	if strategy.Adaptive == nil {
		return &v1beta1.AdaptiveUnitedDeploymentStrategy{}
	}
	return strategy.Adaptive
}

// reserves reports whether Pods that cannot run are kept in addition to their substitutes.
func (p *pass) reserves() bool {
	adaptive := p.adaptive()
	return adaptive != nil && adaptive.ReserveUnschedulablePods
}

// observe reads the workloads and the Pods of a UnitedDeployment from the caches, and adopts workloads that have no controller. The
// guard has made sure that the caches show the writes of the last pass. So a missing workload is really missing, or it was created by a
// write whose answer was lost: the name is generated, so a second one is created then, and assign finds the duplicate.
func (r *Reconciler) observe(ctx context.Context, p *pass) error {
	for _, a := range r.adapters {
		found, err := a.list(p.united)
		if err != nil {
			return err
		}
		for _, object := range found {
			// A workload that is being deleted no longer counts for its subset. A new one is created beside it, without waiting for its
			// Pods.
			if object.GetDeletionTimestamp() == nil {
				p.children = append(p.children, &child{Object: object, adapter: a, parts: a.parts(object)})
			}
		}
	}
	p.assign()
	if err := r.adopt(ctx, p); err != nil {
		return err
	}
	for _, s := range p.subsets {
		if s.child == nil {
			continue
		}
		pods, err := s.child.pods(s.child)
		if err != nil {
			return err
		}
		s.pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return !podstate.Active(pod) })
	}
	return nil
}

// assign assigns the workloads to the subsets. Of several for one subset, the oldest stays. A workload of another kind, or of a subset
// that does not exist, is extra. A workload without the label of its subset is ignored.
func (p *pass) assign() {
	// First the subsets, with what the status says of them.
	byName := map[string]*subset{}
	for i := range p.united.Spec.Topology.Subsets {
		s := &subset{Subset: &p.united.Spec.Topology.Subsets[i]}
		for j := range p.united.Status.SubsetStatuses {
			if p.united.Status.SubsetStatuses[j].Name == s.Name {
				s.before = &p.united.Status.SubsetStatuses[j]
			}
		}
		if before := conditionOf(s.before); before != nil {
			s.schedulable = before.DeepCopy()
			s.marked = before.Status == corev1.ConditionFalse
		}
		p.subsets, byName[s.Name] = append(p.subsets, s), s
	}
	// Then the workloads, oldest first.
	slices.SortStableFunc(p.children, func(a, b *child) int { return older(a, b) })
	for _, c := range p.children {
		name, labelled := c.GetLabels()[pub.SubsetNameKey]
		if !labelled {
			continue
		}
		s := byName[name]
		if s == nil || s.child != nil || c.adapter != p.using {
			c.duplicate = s != nil && c.adapter == p.using
			p.extra = append(p.extra, c)
			continue
		}
		s.child = c
	}
}

// older compares the ages of two workloads. Creation times have whole seconds, so the name decides among equals. Each pass then gives
// the same answer.
func older(a, b controller.Object) int {
	created := a.GetCreationTimestamp()
	return cmp.Or(created.Compare(b.GetCreationTimestamp().Time), cmp.Compare(a.GetName(), b.GetName()))
}

// allocate decides the replicas and the partition of each subset. It returns an error if the replicas in the spec cannot be divided;
// then nothing is decided.
func (p *pass) allocate() error {
	shares, bounds, err := sharesOf(&p.united.Spec.Topology, p.total)
	if err != nil {
		return err
	}
	for i, s := range p.subsets {
		shares[i].current, shares[i].ready, shares[i].reserved = s.current(), s.counts().ready, s.reserved+s.unseen
		shares[i].marked = s.marked
		// This is the condition after judge. marked is the condition before.
		shares[i].unschedulable = s.schedulable != nil && s.schedulable.Status == corev1.ConditionFalse
	}
	var given []int32
	switch {
	// The adaptive strategy replaces fixed numbers of replicas by bounds.
	case p.reserves():
		given = reserving(p.total, shares)
	case p.adaptive() != nil:
		given = bounded(p.total, adapted(shares))
	case bounds:
		given = bounded(p.total, shares)
	default:
		if given, err = fixed(p.total, shares); err != nil {
			return err
		}
	}
	for i, s := range p.subsets {
		s.replicas = given[i]
		s.partition = partitionOf(p.united, s.Name, given[i])
	}
	return nil
}

// keep leaves the replicas of the workloads as they are, after allocate has failed. The status then shows them.
func (p *pass) keep() {
	for _, s := range p.subsets {
		s.replicas = s.current()
		s.partition = partitionOf(p.united, s.Name, s.replicas)
	}
}

// totalOf returns the wanted number of Pods of a UnitedDeployment. Without replicas it is one, the default of the API.
func totalOf(united *v1beta1.UnitedDeployment) int32 {
	if total := kinds.Of(kinds.UnitedDeployment).Replicas(united); total != nil {
		return *total
	}
	return 1
}
