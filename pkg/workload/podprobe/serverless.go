package podprobe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podstate"
)

// Annotations returns the annotations that tell a provider which probes to run in a new Pod, or nil. The markers select the
// Pod. The first probe counts where two write one condition, or have one name in one container. Markers are ordered by name.
// Probes without a condition are left out, because the provider reports only by conditions.
func Annotations(pod *corev1.Pod, markers []*v1alpha1.PodProbeMarker) (map[string]string, error) {
	markers = slices.Clone(markers)
	slices.SortFunc(markers, func(a, b *v1alpha1.PodProbeMarker) int { return cmp.Compare(a.Name, b.Name) })
	var probes []v1alpha1.PodContainerProbe
	var names []string
	// seen has the conditions and the names of the probes so far.
	seen := map[string]bool{}
	for _, marker := range markers {
		if marker.DeletionTimestamp != nil {
			continue
		}
		for i := range marker.Spec.Probes {
			probe := marker.Spec.Probes[i]
			condition, key := "condition "+probe.PodConditionType, "container "+probe.ContainerName+" "+probe.Name
			if probe.PodConditionType == "" || container(pod, probe.ContainerName) == nil || seen[condition] || seen[key] {
				continue
			}
			seen[condition], seen[key] = true, true
			// probe is a copy. The provider does not set marks: podprobemarker does, from the conditions.
			probe.MarkerPolicy = nil
			probes = append(probes, probe)
			names = append(names, marker.Name)
		}
	}
	if len(probes) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(probes)
	if err != nil {
		return nil, fmt.Errorf("encode probes: %w", err)
	}
	return map[string]string{
		pub.PodProbeKey: string(text), pub.PodProbeMarkerListKey: strings.Join(slices.Compact(names), ","),
	}, nil
}

// Named returns the names of the PodProbeMarkers that a Pod was created with. It returns false if the Pod does not say. A
// PodProbeMarker may have been deleted since.
func Named(pod *corev1.Pod) ([]string, bool) {
	list, found := pod.Annotations[pub.PodProbeMarkerListKey]
	if !found || list == "" {
		return nil, false
	}
	return strings.Split(list, ","), true
}

// Concerns reports whether the probes of a PodProbeMarker, which selects the Pod, run on a virtual node. The provider only knows
// the probes that the Pod was created with. A Pod that does not say with which ones counts as created with all.
func Concerns(marker *v1alpha1.PodProbeMarker, pod *corev1.Pod) bool {
	names, named := Named(pod)
	return !named || slices.Contains(names, marker.Name)
}

// MarksOfConditions returns how the conditions that a provider wrote change the metadata of a Pod: the marks of the result that
// a condition shows are set. Those of the other result stay. It changes no conditions, and returns an empty change if nothing
// differs.
func MarksOfConditions(pod *corev1.Pod, markers []*v1alpha1.PodProbeMarker) *Change {
	// The marks of all probes are set in copies, and the difference is the change.
	labels, annotations := maps.Clone(pod.Labels), maps.Clone(pod.Annotations)
	for _, marker := range markers {
		if marker.DeletionTimestamp != nil {
			continue
		}
		for i := range marker.Spec.Probes {
			probe := &marker.Spec.Probes[i]
			condition := podstate.Condition(pod, corev1.PodConditionType(probe.PodConditionType))
			if probe.PodConditionType == "" || condition == nil {
				continue
			}
			switch condition.Status {
			case corev1.ConditionTrue:
				set(&labels, &annotations, probe.MarkerPolicy, v1alpha1.ProbeSucceeded)
			case corev1.ConditionFalse:
				set(&labels, &annotations, probe.MarkerPolicy, v1alpha1.ProbeFailed)
			// A condition that says nothing leaves the marks as they are.
			case corev1.ConditionUnknown:
			}
		}
	}
	return &Change{Labels: changed(pod.Labels, labels), Annotations: changed(pod.Annotations, annotations)}
}
