package workloadspread

import (
	"context"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/spread"
)

// nodeDelay is the delay until a Pod is looked at again whose node is not in the cache yet. The arrival of the node is no event of the Pod.
const nodeDelay = 5 * time.Second

// version is the active Pods of one version. subsets has one element for each subset of the spec, in the same order.
type version struct {
	subsets [][]*corev1.Pod
	// others are Pods that fit no subset, or whose subset does not exist any more.
	others []*corev1.Pod
}

// assignment is the state of assign. Its Pods belong to the cache, so changes are made in copies.
type assignment struct {
	object *v1beta1.WorkloadSpread
	target *target
	pods   []*corev1.Pod
	now    time.Time
	// byName are the active Pods.
	byName map[string]*corev1.Pod
	// changed are copies of the Pods that change.
	changed map[string]*corev1.Pod
	// again is the delay until Pods that could not be classified are looked at again, or zero if there are none.
	again time.Duration
}

// assign returns the Pods with the metadata that they must have, by name. It contains only Pods that change. First the Pods are
// sorted by their annotation, then those without one are classified by their node, and then the costs follow from both. again is the
// delay until the next pass for Pods that could not be classified, or zero.
func (r *Reconciler) assign(ctx context.Context, object *v1beta1.WorkloadSpread, t *target, pods []*corev1.Pod, now time.Time) (
	changed map[string]*corev1.Pod, again time.Duration) {
	a := &assignment{object: object, target: t, pods: pods, now: now, byName: map[string]*corev1.Pod{}, changed: map[string]*corev1.Pod{}}
	versions := map[string]*version{}
	var without []*corev1.Pod
	for _, pod := range pods {
		if !podstate.Active(pod) {
			continue
		}
		// Pods that are ending need no subset and no cost.
		a.byName[pod.Name] = pod
		v := versions[spread.VersionOf(object, pod)]
		if v == nil {
			v = &version{subsets: make([][]*corev1.Pod, len(object.Spec.Subsets))}
			versions[spread.VersionOf(object, pod)] = v
		}
		switch matched, found := spread.MatchedOf(pod); {
		case !found || matched.Name != object.Name:
			without = append(without, pod)
		// The subset was removed from the spec.
		case spread.Index(object, matched.Subset) == spread.None:
			v.others = append(v.others, pod)
		default:
			index := spread.Index(object, matched.Subset)
			v.subsets[index] = append(v.subsets[index], pod)
		}
	}
	for name, v := range versions {
		a.classify(ctx, r.nodes, without, name, v)
	}
	// Other kinds of workloads do not read the costs.
	if spread.Ordered(object) {
		for name, v := range versions {
			// A scale-in of an old version during a rollout removes Pods in the reversed order.
			old := t.latest != "" && name != t.latest
			for pod, cost := range spread.Costs(object, v.subsets, v.others, t.replicas, old, now) {
				a.set(pod, pub.PodDeletionCostKey, strconv.Itoa(cost))
			}
		}
	}
	return a.changed, a.again
}

// classify assigns the Pods of a version that no admission has injected, by their nodes. A Pod without a node is left for a
// later pass. A Pod that is younger than the WorkloadSpread found no free slot, or was created while admission was not
// available. It is only assigned to a free slot. If no subset fits an older Pod, it is among others, and gets the lowest cost.
// A younger one gets no cost.
func (a *assignment) classify(ctx context.Context, nodes corelisters.NodeLister, without []*corev1.Pod, name string, v *version) {
	var rooms []int
	for _, pod := range without {
		if spread.VersionOf(a.object, pod) != name || pod.Spec.NodeName == "" {
			continue
		}
		node, err := nodes.Get(pod.Spec.NodeName)
		if err != nil {
			a.again = nodeDelay
			continue
		}
		// The free slots are counted once, and only if a Pod needs them.
		if rooms == nil {
			rooms = spread.Rooms(a.object, a.pods, a.target.replicas, name, a.now)
		}
		// Times have whole seconds, so a Pod of the same second counts as younger.
		younger := !pod.CreationTimestamp.Before(&a.object.CreationTimestamp)
		index := spread.Classify(ctx, a.object, pod, node, rooms, younger)
		if index == spread.None {
			if !younger {
				v.others = append(v.others, pod)
			}
			continue
		}
		// -1 is no limit, which stays.
		if rooms[index] > 0 {
			rooms[index]--
		}
		v.subsets[index] = append(v.subsets[index], pod)
		a.annotate(index, pod)
	}
}

// annotate records the subset on the Pod, with the labels and annotations of the subset's patch (case 13 of
// docs/contract/workloadspread.md). The rest of the patch is for new Pods only.
func (a *assignment) annotate(index int, pod *corev1.Pod) {
	subset := &a.object.Spec.Subsets[index]
	a.set(pod.Name, pub.MatchedWorkloadSpreadKey, spread.Matched{Name: a.object.Name, Subset: subset.Name}.String())
	if a.object.Annotations[pub.IgnorePatchExistingPodsMetadataKey] == "true" {
		return
	}
	labels, annotations := spread.Metadata(subset)
	for key, value := range annotations {
		a.set(pod.Name, key, value)
	}
	if len(labels) > 0 {
		// The annotation above always differs, so the copy exists.
		after := a.changed[pod.Name]
		if after.Labels == nil {
			after.Labels = map[string]string{}
		}
		maps.Copy(after.Labels, labels)
		if a.target.selector != nil {
			after.Labels, _ = spread.KeepSelected(a.target.selector, pod.Labels, after.Labels)
		}
	}
}

// set sets an annotation of a Pod in a copy, if it differs. The first change makes the copy.
func (a *assignment) set(name, key, value string) {
	after := a.changed[name]
	if after == nil {
		pod := a.byName[name]
		if pod.Annotations[key] == value {
			return
		}
		after = pod.DeepCopy()
		if after.Annotations == nil {
			after.Annotations = map[string]string{}
		}
		a.changed[name] = after
	}
	after.Annotations[key] = value
}
