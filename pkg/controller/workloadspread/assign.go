package workloadspread

import (
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

// version is the active Pods of one version.
type version struct {
	subsets [][]*corev1.Pod
	// others are Pods that fit no subset, or whose subset does not exist any more.
	others []*corev1.Pod
}

// assignment is the state of assign.
type assignment struct {
	object *v1beta1.WorkloadSpread
	target *target
	pods   []*corev1.Pod
	now    time.Time
	// byName are the active Pods.
	byName map[string]*corev1.Pod
	// changed are copies of the Pods that change.
	changed map[string]*corev1.Pod
}

// assign returns the Pods with the metadata that they must have, by name. It contains only Pods that change.
func (r *Reconciler) assign(object *v1beta1.WorkloadSpread, t *target, pods []*corev1.Pod, now time.Time) map[string]*corev1.Pod {
	a := &assignment{object: object, target: t, pods: pods, now: now, byName: map[string]*corev1.Pod{}, changed: map[string]*corev1.Pod{}}
	versions := map[string]*version{}
	var without []*corev1.Pod
	for _, pod := range pods {
		if !podstate.Active(pod) {
			continue
		}
		a.byName[pod.Name] = pod
		v := versions[spread.VersionOf(object, pod)]
		if v == nil {
			v = &version{subsets: make([][]*corev1.Pod, len(object.Spec.Subsets))}
			versions[spread.VersionOf(object, pod)] = v
		}
		switch matched, found := spread.MatchedOf(pod); {
		case !found || matched.Name != object.Name:
			without = append(without, pod)
		case spread.Index(object, matched.Subset) == spread.None:
			v.others = append(v.others, pod)
		default:
			index := spread.Index(object, matched.Subset)
			v.subsets[index] = append(v.subsets[index], pod)
		}
	}
	for name, v := range versions {
		a.classify(r.nodes, without, name, v)
	}
	if spread.Ordered(object) {
		for name, v := range versions {
			old := t.latest != "" && name != t.latest
			for pod, cost := range spread.Costs(object, v.subsets, v.others, t.replicas, old, now) {
				a.set(pod, pub.PodDeletionCostKey, strconv.Itoa(cost))
			}
		}
	}
	return a.changed
}

// classify assigns the Pods of a version that no admission has injected, by their nodes. A Pod that is younger than the WorkloadSpread
// found no free slot, or was created while admission was not available. It is only assigned to a free slot.
func (a *assignment) classify(nodes corelisters.NodeLister, without []*corev1.Pod, name string, v *version) {
	var rooms []int
	for _, pod := range without {
		if spread.VersionOf(a.object, pod) != name || pod.Spec.NodeName == "" {
			continue
		}
		node, err := nodes.Get(pod.Spec.NodeName)
		if err != nil {
			continue
		}
		if rooms == nil {
			rooms = spread.Rooms(a.object, a.pods, a.target.replicas, name, a.now)
		}
		younger := !pod.CreationTimestamp.Before(&a.object.CreationTimestamp)
		index := spread.Classify(a.object, pod, node, rooms, younger)
		if index == spread.None {
			if !younger {
				v.others = append(v.others, pod)
			}
			continue
		}
		if rooms[index] > 0 {
			rooms[index]--
		}
		v.subsets[index] = append(v.subsets[index], pod)
		a.annotate(index, pod)
	}
}

// annotate records the subset on the Pod, with the metadata of the subset's patch.
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
		after := a.changed[pod.Name]
		if after.Labels == nil {
			after.Labels = map[string]string{}
		}
		maps.Copy(after.Labels, labels)
	}
}

// set sets an annotation of a Pod in a copy, if it differs.
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
