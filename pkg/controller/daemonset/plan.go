package daemonset

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/rollout"
)

// planner decides what one pass does for a DaemonSet. It only reads. It is made for one pass and never used for the next one.
type planner struct {
	*engine.View
	settings
	set *v1beta1.DaemonSet
	// rolling is never nil, see rollingOf. places are sorted by the names of their nodes.
	rolling *v1beta1.RollingUpdateDaemonSet
	places  []*place
	// desired is the number of nodes on which a Pod is to run.
	desired int
	// failedWait returns how long failed Pods of a node must not be deleted.
	failedWait func(node string) time.Duration
	// opened are the nodes whose failed Pods the plan deletes.
	opened []string
	// recheck is the delay until the next pass is due even if nothing changes.
	recheck time.Duration
}

// newPlanner reads the nodes and sorts the Pods by node. An error comes from a cache; then nothing is decided.
func (r *Reconciler) newPlanner(v *engine.View, set *v1beta1.DaemonSet) (*planner, error) {
	places, err := r.places(set, slices.Concat(v.Pods, v.Inactive), v.Orphans)
	if err != nil {
		return nil, err
	}
	p := &planner{
		View: v, settings: r.settings, set: set, rolling: rollingOf(set), places: places,
		failedWait: func(node string) time.Duration { return r.failures.wait(set, node) },
	}
	for _, at := range places {
		p.desired += one(at.run)
	}
	return p, nil
}

// plan returns the stage that creates and deletes Pods, followed by the stage of updates. The engine runs the update stage only if
// the first stage changes nothing.
func (p *planner) plan() *engine.Plan {
	// The labels come first: until then, Pods of a copy count as outdated and would be replaced without need.
	if relabelled := p.relabel(); len(relabelled) > 0 {
		return &engine.Plan{Stages: []engine.Stage{{Aim: engine.Update, Changes: relabelled}}}
	}
	plan := &engine.Plan{}
	amounts, err := p.amounts()
	if err != nil {
		// A number that cannot be resolved must not become zero or unlimited.
		plan.Err = engine.Failures{Scale: err}
		return plan
	}
	// Managing goes on during a pause and under OnDelete: both concern updates only.
	manage, err := p.manage(amounts)
	plan.Stages, plan.Err.Scale = append(plan.Stages, manage), err
	if p.Stopped {
		return plan
	}
	// The engine executes this stage only on a view in which managing has nothing left to do.
	update, err := p.update(amounts)
	plan.Stages, plan.Err.Update = append(plan.Stages, update), err
	return plan
}

// amounts are the numbers of the spec, with percentages of the eligible nodes resolved. Each kind of rounding is that of Kubernetes,
// where Kubernetes has the number.
type amounts struct{ partition, maxUnavailable, maxSurge, burst int }

// amounts resolves the numbers. Under OnDelete, the block of the rolling update has no effect, and its numbers are zero.
func (p *planner) amounts() (a amounts, err error) {
	if a.burst, err = rollout.RoundedDown(p.set.Spec.BurstReplicas, p.desired, defaultBurst); err != nil {
		return a, err
	}
	// A percentage of few nodes can round down to 0, and then nothing would ever be created.
	if burst := p.set.Spec.BurstReplicas; burst != nil && a.burst == 0 && burst.StrVal != "" && burst.StrVal != "0%" {
		a.burst = 1
	}
	if onDelete(p.set) {
		return a, nil
	}
	if a.partition, err = rollout.UnlimitedDaemonSetPartition(p.rolling.Partition, p.desired); err != nil {
		return a, err
	}
	if a.maxUnavailable, err = rollout.RoundedUp(p.rolling.MaxUnavailable, p.desired, 0); err != nil {
		return a, err
	}
	if a.maxSurge, err = rollout.RoundedUp(p.rolling.MaxSurge, max(1, p.desired), 0); err != nil {
		return a, err
	}
	// Validation refuses two zeros. Two percentages of no nodes, or defaults, can still be both 0, and the update would never move.
	if a.maxUnavailable == 0 && a.maxSurge == 0 {
		a.maxUnavailable = 1
	}
	return a, nil
}

// versions returns the Pods of a node that are not terminating: the one at the wanted revision, and the one at another revision. It
// returns false if there are several of one of them, or if there will be others. A surge can have one Pod of each on a node.
func (p *planner) versions(at *place) (updated, outdated *corev1.Pod, clear bool) {
	if at.adopting {
		return nil, nil, false
	}
	for _, pod := range at.pods {
		if pod.DeletionTimestamp != nil {
			continue
		}
		which := &outdated
		if p.Updated(pod) {
			which = &updated
		}
		// Managing deletes one of the two first.
		if *which != nil {
			return nil, nil, false
		}
		*which = pod
	}
	return updated, outdated, true
}

// copies returns the revisions that store the same template as the wanted one. There are some after a revision was restored by hand.
// Their names differ, so the labels of their Pods differ too, although the Pods are the same.
func (p *planner) copies() (copies []*appsv1.ControllerRevision) {
	for _, revision := range p.History {
		if revision.Name != p.Update.Name && revisions.Same(revision, p.Update) {
			copies = append(copies, revision)
		}
	}
	return copies
}

// relabel returns the changes that bring the Pods of copies to the wanted revision without an update. Only the label changes, so the
// Pods do not restart.
func (p *planner) relabel() (changes []engine.Change) {
	copies := p.copies()
	for _, pod := range p.Pods {
		if slices.ContainsFunc(copies, func(revision *appsv1.ControllerRevision) bool { return p.At(pod, revision) }) {
			after := pod.DeepCopy()
			p.Stamp(after, p.Update.Name)
			changes = append(changes, engine.Change{Before: pod, After: after})
		}
	}
	return changes
}

// unusedCopies returns the copies that no Pod uses. A copy goes only after its Pods have the new label, so no Pod names a revision
// that does not exist.
func (p *planner) unusedCopies() []*appsv1.ControllerRevision {
	return slices.DeleteFunc(p.copies(), func(revision *appsv1.ControllerRevision) bool {
		return slices.ContainsFunc(slices.Concat(p.Pods, p.Inactive), func(pod *corev1.Pod) bool { return p.At(pod, revision) })
	})
}
