package inplace

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Apply makes the change in the object given, which the caller owns, and records in it what ran before. The object must be
// the version that the write replaces, else the record is not of the very instance that the write puts an end to.
func (c *Change) Apply(pod *corev1.Pod, revision string, now time.Time) error {
	return c.apply(pod, revision, now, now)
}

// apply makes the change of an update that started earlier.
func (c *Change) apply(pod *corev1.Pod, revision string, started, now time.Time) error {
	names := slices.Sorted(maps.Keys(c.Images))
	state := &State{
		Revision: revision, UpdateTimestamp: metav1.NewTime(started.UTC()), UpdateImages: len(names) > 0,
		LastContainerStatuses: c.record(pod),
	}
	for i := range pod.Spec.Containers {
		if image, found := c.Images[pod.Spec.Containers[i].Name]; found {
			pod.Spec.Containers[i].Image = image
		}
	}
	if len(names) > 0 {
		state.ContainerBatchesRecord = []Batch{{Timestamp: metav1.NewTime(now.UTC()), Containers: names}}
	}
	pod.Labels = c.Labels.apply(pod.Labels)
	pod.Annotations = c.Annotations.apply(pod.Annotations)
	dropGrace(pod)
	return writeState(pod, state)
}

// record returns what runs in the containers that the change touches, and in those that an earlier update is still changing.
func (c *Change) record(pod *corev1.Pod) map[string]ContainerStatus {
	previous, err := ReadState(pod)
	if err != nil {
		previous = nil
	}
	var records map[string]ContainerStatus
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		before, pending := unfinished(pod, previous, container)
		if _, touched := c.Images[container.Name]; !touched && !pending {
			continue
		}
		if records == nil {
			records = map[string]ContainerStatus{}
		}
		records[container.Name] = before
	}
	return records
}

// unfinished returns what to record of a container, and whether an earlier update of it is still under way. While the
// instance that an earlier update put an end to still runs, what it was created from is in that update's record and no
// longer in the spec.
func unfinished(pod *corev1.Pod, previous *State, container *corev1.Container) (ContainerStatus, bool) {
	before := ContainerStatus{Image: container.Image}
	if status := containerStatus(pod, container.Name); status != nil {
		before.ImageID, before.ContainerID = status.ImageID, status.ContainerID
	}
	if previous == nil {
		return before, false
	}
	recorded, found := previous.LastContainerStatuses[container.Name]
	if !found || judge(pod, container, recorded) == done {
		return before, false
	}
	if recorded.ContainerID == before.ContainerID {
		before.Image = recorded.Image
	} else if recorded.ContainerID != "" {
		// An instance between the two: whether it came before or after the node saw the spec, nobody knows.
		before.Image = ""
	}
	return before, true
}

func containerStatus(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == name {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}
