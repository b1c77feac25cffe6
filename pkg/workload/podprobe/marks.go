package podprobe

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/workload/podstate"
)

// Change is what results change in a Pod. Patch turns it into one write.
type Change struct {
	// Labels and Annotations are the keys to set, or to remove where the value is nil.
	Labels, Annotations map[string]*string
	Conditions          []corev1.PodCondition
	// Conflicts are conditions that a second probe writes. The first one counts.
	Conflicts []string
}

// Marks returns how the results of a node change a Pod. asked is the entry of the Pod in the spec of the NodePodProbe: a node
// is not believed about other probes, and the order of its probes decides between two that write the same. marker returns a
// PodProbeMarker of the Pod's namespace, or nil. A probe without a result, or whose PodProbeMarker is gone, changes nothing.
// The Pod is not changed.
func Marks(
	pod *corev1.Pod, asked *v1alpha1.PodProbe, results []v1alpha1.ContainerProbeState,
	marker func(name string) *v1alpha1.PodProbeMarker, now time.Time,
) *Change {
	change := &Change{}
	labels, annotations := maps.Clone(pod.Labels), maps.Clone(pod.Annotations)
	// written has the conditions that a probe has set in this call.
	written := map[string]bool{}
	for i := range asked.Probes {
		name := asked.Probes[i].Name
		result := find(results, name)
		probe := probeOf(marker(MarkerOf(name)), name)
		if result == nil || result.State == "" || probe == nil {
			continue
		}
		switch kind := probe.PodConditionType; {
		// The marks of the second probe are applied all the same. Only its condition is left out.
		case kind != "" && written[kind]:
			change.Conflicts = append(change.Conflicts, kind)
		case kind != "":
			written[kind] = true
			change.condition(pod, corev1.PodConditionType(kind), result, now)
		}
		apply(&labels, &annotations, probe.MarkerPolicy, result.State)
	}
	change.Labels, change.Annotations = changed(pod.Labels, labels), changed(pod.Annotations, annotations)
	return change
}

// find returns the result of the probe with a name, or nil. The result points into the slice.
func find(results []v1alpha1.ContainerProbeState, name string) *v1alpha1.ContainerProbeState {
	for i := range results {
		if results[i].Name == name {
			return &results[i]
		}
	}
	return nil
}

// probeOf returns the probe with a name in a NodePodProbe. It returns nil if the marker is deleted or no longer has it.
func probeOf(marker *v1alpha1.PodProbeMarker, name string) *v1alpha1.PodContainerProbe {
	if marker == nil || marker.DeletionTimestamp != nil {
		return nil
	}
	for i := range marker.Spec.Probes {
		if Name(marker.Name, marker.Spec.Probes[i].Name) == name {
			return &marker.Spec.Probes[i]
		}
	}
	return nil
}

// condition adds a condition if its status or its message changes. A result that is not known makes an existing condition
// False, and creates none. The time of the transition changes only with the status.
func (c *Change) condition(pod *corev1.Pod, kind corev1.PodConditionType, result *v1alpha1.ContainerProbeState, now time.Time) {
	status := corev1.ConditionFalse
	if result.State == v1alpha1.ProbeSucceeded {
		status = corev1.ConditionTrue
	}
	before := podstate.Condition(pod, kind)
	// The condition is as it should be, or there is nothing to say.
	if before == nil && result.State == v1alpha1.ProbeUnknown ||
		before != nil && before.Status == status && before.Message == result.Message {
		return
	}
	after := corev1.PodCondition{
		Type: kind, Status: status, Message: result.Message, LastProbeTime: result.LastProbeTime,
		LastTransitionTime: result.LastTransitionTime,
	}
	switch {
	// Only the message differs.
	case before != nil && before.Status == status:
		after.LastTransitionTime = before.LastTransitionTime
	// The time comes from the clock of the node. It must not be in the future.
	case after.LastTransitionTime.IsZero() || after.LastTransitionTime.After(now):
		after.LastTransitionTime = metav1.NewTime(now)
	}
	c.Conditions = append(c.Conditions, after)
}

// apply sets the marks of a result and removes those of the other one. A result without a policy only removes. The removal
// comes first, because two policies may set the same key.
func apply(labels, annotations *map[string]string, policies []v1alpha1.ProbeMarkerPolicy, state v1alpha1.ProbeState) {
	for i := range policies {
		if policies[i].State == state {
			continue
		}
		for key := range policies[i].Labels {
			delete(*labels, key)
		}
		for key := range policies[i].Annotations {
			delete(*annotations, key)
		}
	}
	set(labels, annotations, policies, state)
}

// set sets the marks of a result, and removes nothing.
func set(labels, annotations *map[string]string, policies []v1alpha1.ProbeMarkerPolicy, state v1alpha1.ProbeState) {
	for i := range policies {
		if policies[i].State != state {
			continue
		}
		add(labels, policies[i].Labels)
		add(annotations, policies[i].Annotations)
	}
}

// add adds pairs to a map, which is nil for a Pod that has none.
func add(target *map[string]string, pairs map[string]string) {
	if *target == nil && len(pairs) > 0 {
		*target = map[string]string{}
	}
	maps.Copy(*target, pairs)
}

// changed returns the keys to set or to remove. The value of a key to remove is nil, which a patch encodes as null.
func changed(before, after map[string]string) map[string]*string {
	keys := map[string]*string{}
	for key, value := range after {
		if old, found := before[key]; !found || old != value {
			keys[key] = &value
		}
	}
	for key := range before {
		if _, found := after[key]; !found {
			keys[key] = nil
		}
	}
	return keys
}

// Empty reports whether the Pod stays as it is.
func (c *Change) Empty() bool { return len(c.Labels)+len(c.Annotations)+len(c.Conditions) == 0 }

// Patch returns the change as a strategic merge patch of the Pod's status, which also changes its metadata. So a client that
// sees a label reads the condition next to it. The UID makes sure that the Pod is still the same. Conditions are merged by
// their type, so those of other writers stay.
func (c *Change) Patch(pod *corev1.Pod) ([]byte, error) {
	metadata := map[string]any{"uid": pod.UID}
	if len(c.Labels) > 0 {
		metadata["labels"] = c.Labels
	}
	if len(c.Annotations) > 0 {
		metadata["annotations"] = c.Annotations
	}
	// The fields are named one by one: an empty field of a condition would overwrite what the Pod has.
	patch := map[string]any{"metadata": metadata}
	if len(c.Conditions) > 0 {
		var conditions []map[string]any
		for i := range c.Conditions {
			one := &c.Conditions[i]
			conditions = append(conditions, map[string]any{
				"type": one.Type, "status": one.Status, "message": one.Message,
				"lastProbeTime": one.LastProbeTime, "lastTransitionTime": one.LastTransitionTime,
			})
		}
		patch["status"] = map[string]any{"conditions": conditions}
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode the marks: %w", err)
	}
	return data, nil
}

// Selected returns the names of the PodProbeMarkers in an entry, sorted and without duplicates.
func Selected(entry *v1alpha1.PodProbe) (markers []string) {
	for i := range entry.Probes {
		markers = append(markers, MarkerOf(entry.Probes[i].Name))
	}
	slices.Sort(markers)
	return slices.Compact(markers)
}
