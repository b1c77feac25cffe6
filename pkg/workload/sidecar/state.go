package sidecar

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/containerreport"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/inplace/record"
	"kruise.io/kruise/pkg/workload/podstate"
)

// Injected reports whether the SidecarSet was injected into the Pod and the Pod has all of its containers. A Pod that was
// created before a container was added, or before a container became a hot upgrade, does not count.
func Injected(set *v1beta1.SidecarSet, pod *corev1.Pod) bool {
	if !slices.Contains(InjectedSets(pod), set.Name) {
		return false
	}
	for _, name := range PodNames(set) {
		if Container(pod, name) == nil {
			return false
		}
	}
	// A Pod that got the container before it became a hot upgrade has no entry in this annotation.
	working, err := Working(pod)
	for i := range set.Spec.Containers {
		container := &set.Spec.Containers[i]
		if Hot(container) && (err != nil || working[container.Name] == "") {
			return false
		}
	}
	return true
}

// Updated reports whether the Pod has the SidecarSet's containers as they are now, by the hash that it records. If a hash
// cannot be read, it does not.
func Updated(set *v1beta1.SidecarSet, pod *corev1.Pod) bool {
	full, _, err := Hashes(set)
	records, readErr := ReadRecords(pod.Annotations, pub.SidecarSetHashKey)
	return err == nil && readErr == nil && records[set.Name].Hash == full
}

// Upgradable reports whether images are all that differs between the SidecarSet and the containers of the Pod. Other fields of
// a running Pod cannot change. A Pod whose annotations cannot be read is not upgradable: an upgrade has to change them.
func Upgradable(set *v1beta1.SidecarSet, pod *corev1.Pod) bool {
	_, withoutImage, err := Hashes(set)
	records, readErr := ReadRecords(pod.Annotations, pub.SidecarSetHashWithoutImageKey)
	return err == nil && readErr == nil && records[set.Name].Hash == withoutImage && Unreadable(set, pod) == nil
}

// Unreadable returns an error that says which annotation of the Pod an upgrade has to change and cannot read, or nil. A Pod without a
// readable annotation of hot upgrades does not have their containers, see Injected.
func Unreadable(set *v1beta1.SidecarSet, pod *corev1.Pod) error {
	for _, key := range []string{pub.SidecarSetHashKey, pub.SidecarSetHashWithoutImageKey} {
		if _, err := ReadRecords(pod.Annotations, key); err != nil {
			return err
		}
	}
	_, err := Annotations(set.Spec.PatchPodMetadata, pod.Annotations)
	return err
}

// Ready reports whether the Pod is ready and each of its hot upgrades has ended. It does not say whether the node runs the
// newest images; Consistent does.
func Ready(set *v1beta1.SidecarSet, pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning && podstate.ConditionReady(pod) &&
		len(flips(set, pod)) == 0
}

// Consistent reports whether the node runs the named containers as the Pod's spec says. If all of them have digests that can be compared,
// the running digests decide (case 33). Otherwise the records of upgrades do, and a container without a record was never upgraded.
func Consistent(pod *corev1.Pod, names []string) bool {
	// The node has not reported all containers yet.
	if len(pod.Spec.Containers) != len(pod.Status.ContainerStatuses) {
		return false
	}
	considered := make([]*corev1.Container, 0, len(names))
	compared, differs := 0, false
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if !slices.Contains(names, container.Name) {
			continue
		}
		considered = append(considered, container)
		proof := podstate.RunsDigest(pod, container)
		if proof != podstate.DigestUnknown {
			compared++
		}
		differs = differs || proof == podstate.DigestDiffers
	}
	if compared > 0 && compared == len(considered) {
		return !differs
	}
	return Completed(pod, considered)
}

// Completed reports whether the node has completed the recorded upgrades of the containers, which are containers of the Pod. If the
// records cannot be read, an upgrade of each of them may be in progress.
func Completed(pod *corev1.Pod, containers []*corev1.Container) bool {
	records, err := record.ReadSidecars(pod)
	if err != nil || len(records) == 0 || len(containers) == 0 {
		return err == nil || len(containers) == 0
	}
	report, err := containerreport.Read(pod)
	if err != nil {
		report = nil // The agent will replace the report.
	}
	for _, container := range containers {
		for _, state := range records {
			if recorded, found := state.LastContainerStatuses[container.Name]; found &&
				inplace.JudgeAtOnce(pod, container, recorded, report) != inplace.Done {
				return false
			}
		}
	}
	return true
}

// ContainerReady reports whether the node reports the container as ready.
func ContainerReady(pod *corev1.Pod, container string) bool {
	now := podstate.ContainerStatus(pod, container)
	return now != nil && now.Ready
}

// Applying reports whether an earlier upgrade of a container is still in progress although the container reports that it is
// ready. Such a Pod is not upgraded again before the node has completed that upgrade.
func Applying(set *v1beta1.SidecarSet, pod *corev1.Pod) bool {
	return slices.ContainsFunc(PodNames(set), func(name string) bool {
		return ContainerReady(pod, name) && !Consistent(pod, []string{name})
	})
}
