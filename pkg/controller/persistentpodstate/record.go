package persistentpodstate

import (
	"maps"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/ordinals"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/podtopology"
)

// known returns a StatefulSet of either kind as a target, with the ordinals that it wants.
func (r *Reconciler) known(object kinds.Object) *target {
	found := &target{owner: object}
	start, reserved := ordinals.SpecOf(object, r.startOrdinal)
	switch set := object.(type) {
	case *appsv1.StatefulSet:
		found.ordinals = inRange(int(ptr.Deref(set.Spec.Replicas, 1)), start, reserved)
	case *v1beta1.StatefulSet:
		found.ordinals = inRange(int(ptr.Deref(set.Spec.Replicas, 1)), start, reserved)
	}
	// A nil map would otherwise mean that no ordinal is in range.
	found.all = found.ordinals == nil
	return found
}

// inRange returns the ordinals in range, or nil if a reservation is invalid: then none is known to be out of range, and no
// record goes.
func inRange(replicas, start int, reserved []intstr.IntOrString) map[int]bool {
	all, err := ordinals.InRange(replicas, start, reserved)
	if err != nil {
		return nil
	}
	set := make(map[int]bool, len(all))
	for _, ordinal := range all {
		set[ordinal] = true
	}
	return set
}

// records returns the records of the target's Pods. Without a target there are none. The record of a Pod changes only while the
// Pod is ready: a Pod that waits for a node, or fails on a new one, must not lose the topology to which it is to return.
func (r *Reconciler) records(state *v1beta1.PersistentPodState, found *target, pods []*corev1.Pod) map[string]v1beta1.PodState {
	if found == nil {
		return nil
	}
	records := maps.Clone(state.Status.PodStates)
	if records == nil {
		records = map[string]v1beta1.PodState{}
	}
	exist := map[string]bool{}
	for _, pod := range pods {
		exist[pod.Name] = true
		// Case 13: a Pod that was never ready is not recorded.
		if !podstate.ConditionReady(pod) || pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil {
			continue
		}
		// A node that is not in the cache leaves the record as it is.
		if node, err := r.nodes.Get(pod.Spec.NodeName); err == nil {
			records[pod.Name] = podtopology.Record(&state.Spec, pod, node)
		}
	}
	// A record goes when its Pod is out of range and gone. As long as the Pod exists, it may still be terminating.
	if state.Spec.PersistentPodStateRetentionPolicy != v1beta1.PersistentPodStateRetentionPolicyWhenDeleted {
		maps.DeleteFunc(records, func(name string, _ v1beta1.PodState) bool { return !exist[name] && !found.keeps(name) })
	}
	return records
}

// keeps reports whether a Pod of this name is in the range of the target. A name without an ordinal is not.
func (t *target) keeps(name string) bool {
	if t.all {
		return true
	}
	ordinal, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	return err == nil && t.ordinals[ordinal]
}

// warn tells by an event why a Pod is not scheduled whose node does not exist any more. A Pod that was created without the
// recorded labels waits for another reason, and gets no event.
func (r *Reconciler) warn(state *v1beta1.PersistentPodState, pods []*corev1.Pod) {
	for _, pod := range pods {
		record := state.Status.PodStates[pod.Name]
		pinned := pod.Annotations[pub.InjectedPersistentPodStateKey] == state.Name && len(podtopology.Required(&state.Spec, &record)) > 0
		// Only a Pod that admission bound to the recorded labels can wait because of them.
		if !pinned || pod.Spec.NodeName != "" {
			continue
		}
		if _, err := r.nodes.Get(record.NodeName); apierrors.IsNotFound(err) && !r.anyNode(state, &record) {
			r.recorder.Eventf(pod, corev1.EventTypeWarning, "NodeNotFound", "no node has the labels that PersistentPodState %s requires: "+
				"node %s does not exist any more; delete the PersistentPodState and the Pod, or prefer the labels instead of requiring them",
				state.Name, record.NodeName)
		}
	}
}

// anyNode reports whether a node has the required labels. An error counts as yes, so that no wrong event is sent.
func (r *Reconciler) anyNode(state *v1beta1.PersistentPodState, record *v1beta1.PodState) bool {
	nodes, err := r.nodes.List(labels.SelectorFromSet(podtopology.Required(&state.Spec, record)))
	return err != nil || len(nodes) > 0
}
