package sidecar

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/containerreport"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/inplace/record"
)

// Upgrade changes the images of the SidecarSet's containers in the given Pod, which the caller owns, and records the upgrade. The
// Pod must be the version that the write replaces: the record names the instances that the write ends. revision is the name of the
// SidecarSet's newest revision. Upgrade returns an error if an annotation of the Pod cannot be read, see Unreadable.
func Upgrade(pod *corev1.Pod, set *v1beta1.SidecarSet, revision string, now metav1.Time) error {
	// Without a hot upgrade, the annotation belongs to other SidecarSets, and need not be readable.
	working := map[string]string{}
	if slices.ContainsFunc(set.Spec.Containers, func(c v1beta1.SidecarContainer) bool { return Hot(&c) }) {
		var err error
		if working, err = Working(pod); err != nil {
			return err
		}
	}
	// images are the new images by the name of the container in the Pod.
	images := map[string]string{}
	for i := range set.Spec.Containers {
		container := &set.Spec.Containers[i]
		// The two containers of a hot upgrade have other names in the Pod than in the SidecarSet.
		if Hot(container) {
			upgradeHot(pod, set, container, working, images)
			continue
		}
		if in := Container(pod, container.Name); in != nil && in.Image != container.Image {
			images[container.Name] = container.Image
		}
	}
	// The hash is written together with the images, so a Pod never records a content that it does not have.
	if err := recordHash(pod, set, revision, now); err != nil {
		return err
	}
	// Changed entries of patchPodMetadata reach existing Pods with the upgrade (case 50 of docs/contract/sidecarset.md).
	changes, err := Annotations(set.Spec.PatchPodMetadata, pod.Annotations)
	if err != nil {
		return err
	}
	for key, value := range changes {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, key, value)
	}
	if len(working) > 0 {
		text, err := EncodeWorking(working)
		if err != nil {
			return err
		}
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, pub.SidecarSetWorkingContainersKey, text)
	}
	return setImages(pod, set, images, now)
}

// recordHash writes that the Pod has the SidecarSet's containers as they are now. Records of early releases, which have only
// hashes, are converted, also those of other SidecarSets. The hash without images stays: an upgrade only changes images.
func recordHash(pod *corev1.Pod, set *v1beta1.SidecarSet, revision string, now metav1.Time) error {
	full, _, err := Hashes(set)
	if err != nil {
		return err
	}
	for _, key := range []string{pub.SidecarSetHashKey, pub.SidecarSetHashWithoutImageKey} {
		records, err := ReadRecords(pod.Annotations, key)
		if err != nil {
			return fmt.Errorf("upgrade Pod %q: %w", pod.Name, err)
		}
		for name, existing := range records {
			// A record of an early release has no time and no names.
			if existing.UpdateTimestamp.IsZero() {
				existing.UpdateTimestamp = metav1.NewTime(now.UTC())
			}
			if name == set.Name && existing.SidecarList == nil {
				existing.SidecarList = recordedNames(set)
			}
			records[name] = existing
		}
		if key == pub.SidecarSetHashKey {
			records[set.Name] = NewRecord(set, full, revision, now)
		}
		text, err := records.Encode()
		if err != nil {
			return err
		}
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, key, text)
	}
	return nil
}

// setImages changes images, and records the instances that the write ends. Records of other containers stay valid for the
// instances that those containers were given. Without an image to change, it does nothing, so the record of the last upgrade
// stays.
func setImages(pod *corev1.Pod, set *v1beta1.SidecarSet, images map[string]string, now metav1.Time) error {
	if len(images) == 0 {
		return nil
	}
	full, _, err := Hashes(set)
	if err != nil {
		return err
	}
	records, err := record.ReadSidecars(pod)
	if err != nil || records == nil {
		records = map[string]record.State{} // A record that cannot be read is replaced.
	}
	report, err := containerreport.Read(pod)
	if err != nil {
		report = nil // The agent will replace the report.
	}
	// The record of the other SidecarSets of the Pod is not touched.
	state := records[set.Name]
	state.Revision, state.UpdateTimestamp = full, metav1.NewTime(now.UTC())
	// Only containers of the Pod keep a record.
	previous := state.LastContainerStatuses
	state.LastContainerStatuses = map[string]record.ContainerStatus{}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		recorded, found := previous[container.Name]
		image, changes := images[container.Name]
		switch {
		// The node may not have completed the last change of this container.
		case changes && found:
			state.LastContainerStatuses[container.Name] = inplace.RecordAgain(pod, container, recorded, report)
		case changes:
			state.LastContainerStatuses[container.Name] = inplace.Record(pod, container, report)
		case found:
			state.LastContainerStatuses[container.Name] = recorded
		}
		if changes {
			container.Image = image
		}
	}
	records[set.Name] = state
	return record.WriteSidecars(pod, records)
}
