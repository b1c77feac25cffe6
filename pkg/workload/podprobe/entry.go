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

// Of returns the probes of a PodProbeMarker in an entry, in their order.
func Of(entry *v1alpha1.PodProbe, marker string) (probes []v1alpha1.ContainerProbe) {
	for i := range entry.Probes {
		if MarkerOf(entry.Probes[i].Name) == marker {
			probes = append(probes, entry.Probes[i])
		}
	}
	return probes
}
