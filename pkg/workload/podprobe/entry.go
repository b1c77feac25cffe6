package podprobe

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/workload/podstate"
)

// maxSpec limits the entries of a NodePodProbe together, in bytes. The object also has a result for each probe, and must fit into
// the store.
const maxSpec = 384 << 10

// Name returns the name of a probe in a NodePodProbe, by which results are matched to probes. Neither part contains the
// separator: validation refuses it (case 8 of docs/contract/podprobemarker.md).
func Name(marker, probe string) string { return marker + "#" + probe }

// MarkerOf returns the name of the PodProbeMarker in the name of a probe.
func MarkerOf(name string) string {
	marker, _, _ := strings.Cut(name, "#")
	return marker
}

// OnNode reports whether the agent of the Pod's node may probe it: the Pod is active, has a node, and its init containers have
// ended.
func OnNode(pod *corev1.Pod) bool {
	initialized := podstate.Condition(pod, corev1.PodInitialized)
	return podstate.Active(pod) && pod.Spec.NodeName != "" && initialized != nil && initialized.Status == corev1.ConditionTrue
}

// Entry returns the probes of a Pod, or an entry without probes. The markers select the Pod. Probes of a marker that is being
// deleted, of a container that the Pod does not have, or of a port name that the container does not have are left out. The
// markers are ordered by name, which decides between two probes that write one condition.
func Entry(pod *corev1.Pod, markers []*v1alpha1.PodProbeMarker) v1alpha1.PodProbe {
	entry := v1alpha1.PodProbe{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID), IP: pod.Status.PodIP}
	markers = slices.Clone(markers)
	slices.SortFunc(markers, func(a, b *v1alpha1.PodProbeMarker) int { return cmp.Compare(a.Name, b.Name) })
	for _, marker := range markers {
		// The finalizer of the marker waits until no entry has its probes.
		if marker.DeletionTimestamp != nil {
			continue
		}
		for i := range marker.Spec.Probes {
			probe := &marker.Spec.Probes[i]
			container := container(pod, probe.ContainerName)
			if container == nil {
				continue
			}
			if spec, ok := resolve(&probe.Probe, container); ok {
				entry.Probes = append(entry.Probes, v1alpha1.ContainerProbe{
					Name: Name(marker.Name, probe.Name), ContainerName: probe.ContainerName, Probe: *spec,
				})
			}
		}
	}
	return entry
}

// container returns a container that runs as long as the Pod, or nil: an ordinary one, or an init container that is a sidecar.
// Other init containers have ended before the Pod is probed.
func container(pod *corev1.Pod, name string) *corev1.Container {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			return &pod.Spec.Containers[i]
		}
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.Name == name && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			return c
		}
	}
	return nil
}

// resolve returns a copy of the probe with a number instead of a port name, and false if the container has no port of that
// name. The agent does not know the spec of the container.
func resolve(probe *v1alpha1.ContainerProbeSpec, container *corev1.Container) (*v1alpha1.ContainerProbeSpec, bool) {
	// The probe belongs to the cache.
	probe = probe.DeepCopy()
	var port *intstr.IntOrString
	switch {
	case probe.TCPSocket != nil:
		port = &probe.TCPSocket.Port
	case probe.HTTPGet != nil:
		port = &probe.HTTPGet.Port
	}
	if port == nil || port.Type == intstr.Int {
		return probe, true
	}
	for i := range container.Ports {
		if container.Ports[i].Name == port.StrVal {
			*port = intstr.FromInt32(container.Ports[i].ContainerPort)
			return probe, true
		}
	}
	return nil, false
}

// Fit sorts the entries of a node and leaves out those without probes. If all entries together are too large, it removes the
// last probes of the largest ones, so that no Pod takes the room of smaller ones. It returns the probes that it removed, as
// entries of their Pods. It changes the given slice.
func Fit(entries []v1alpha1.PodProbe) (fit, removed []v1alpha1.PodProbe) {
	entries = slices.DeleteFunc(entries, func(e v1alpha1.PodProbe) bool { return len(e.Probes) == 0 })
	slices.SortFunc(entries, func(a, b v1alpha1.PodProbe) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	// The entries stay in their order; the indexes are sorted by size.
	bySize := make([]int, len(entries))
	for i := range entries {
		bySize[i] = i
	}
	slices.SortStableFunc(bySize, func(a, b int) int { return cmp.Compare(entries[a].Size(), entries[b].Size()) })
	// The smallest entries take their room first.
	room := maxSpec
	for _, i := range bySize {
		if entries[i].Size() > room {
			removed = append(removed, shorten(&entries[i], room))
		}
		// An entry that lost all its probes takes no room.
		if len(entries[i].Probes) > 0 {
			room -= entries[i].Size()
		}
	}
	return slices.DeleteFunc(entries, func(e v1alpha1.PodProbe) bool { return len(e.Probes) == 0 }), removed
}

// Full reports whether a NodePodProbe may have no room for more probes. It asks for half of the limit only, because the probes
// that Fit removed leave room.
func Full(object *v1alpha1.NodePodProbe) bool {
	size := 0
	for i := range object.Spec.PodProbes {
		size += object.Spec.PodProbes[i].Size()
	}
	return size > maxSpec/2
}

// Of returns the probes of a PodProbeMarker in an entry, in their order.
func Of(entry *v1alpha1.PodProbe, marker string) (probes []v1alpha1.ContainerProbe) {
	for i := range entry.Probes {
		if MarkerOf(entry.Probes[i].Name) == marker {
			probes = append(probes, entry.Probes[i])
		}
	}
	return probes
}

// shorten removes the last probes of an entry until it is small enough, and returns an entry with those.
func shorten(entry *v1alpha1.PodProbe, limit int) v1alpha1.PodProbe {
	keep := len(entry.Probes)
	for size := entry.Size(); keep > 0 && size > limit; {
		keep--
		size -= entry.Probes[keep].Size()
	}
	removed := *entry
	removed.Probes = entry.Probes[keep:]
	entry.Probes = entry.Probes[:keep]
	return removed
}
