package inplace

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/containermeta"
	"kruise.io/kruise/pkg/workload/inplace/record"
)

// Apply makes the change in the object given, which the caller owns, and records in it what ran before. The object must be
// the version that the write replaces, else the record is not of the very instance that the write puts an end to. What
// containers of a lower launch priority are to become is recorded too, for Advance.
func (c *Change) Apply(pod *corev1.Pod, revision string, now time.Time) error {
	return c.apply(pod, revision, now, now)
}

// apply makes the change of an update that started earlier.
func (c *Change) apply(pod *corev1.Pod, revision string, started, now time.Time) error {
	c = c.withWaiting(pod)
	state := &record.State{
		Revision: revision, UpdateTimestamp: metav1.NewTime(started.UTC()), UpdateImages: len(c.Images) > 0,
		UpdateEnvFromMetadata: len(c.Env) > 0, UpdateResources: len(c.Resources) > 0,
	}
	state.LastContainerStatuses = c.unfinished(pod)
	c.applyTurn(pod, state, now)
	pod.Labels = c.Labels.apply(pod.Labels)
	pod.Annotations = c.Annotations.apply(pod.Annotations)
	dropGrace(pod)
	return record.Write(pod, state)
}

// Advance makes the change of the containers whose turn is next in the object given, which the caller owns. It is due when
// Evaluate says so.
func Advance(pod *corev1.Pod, now time.Time) error {
	state, err := record.Read(pod)
	if err != nil {
		return err
	}
	if state == nil || !waits(state) {
		return fmt.Errorf("advance Pod %q: none of its containers waits for its turn", pod.Name)
	}
	c := &Change{Images: state.NextContainerImages, Env: state.NextContainerMetadata, Resources: state.NextContainerResources}
	c.applyTurn(pod, state, now)
	return record.Write(pod, state)
}

// applyTurn changes the containers whose turn it is, and leaves the others in the state.
func (c *Change) applyTurn(pod *corev1.Pod, state *record.State, now time.Time) {
	turn, later := c.split(pod)
	recordTurn(state, pod, turn)
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if image, found := turn.Images[container.Name]; found {
			container.Image = image
		}
		if amounts, found := turn.Resources[container.Name]; found {
			setAmounts(container, amounts)
		}
		read := turn.Env[container.Name]
		pod.Labels = MapChange{Set: read.Labels}.apply(pod.Labels)
		pod.Annotations = MapChange{Set: read.Annotations}.apply(pod.Annotations)
	}
	names := turn.names()
	state.NextContainerImages, state.NextContainerMetadata, state.NextContainerResources = later.Images, later.Env, later.Resources
	state.PreCheckBeforeNext = nil
	if waits(state) {
		state.PreCheckBeforeNext = &record.PreCheck{ContainersRequiredReady: names}
	}
	if len(names) > 0 {
		state.ContainerBatchesRecord = append(state.ContainerBatchesRecord, record.Batch{Timestamp: metav1.NewTime(now.UTC()), Containers: names})
	}
}

// recordTurn adds what runs in the containers whose image changes. That of the others stays: their instances are judged by what
// they were given.
func recordTurn(s *record.State, pod *corev1.Pod, turn *Change) {
	report, err := containermeta.Read(pod)
	if err != nil {
		report = nil
	}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if _, changes := turn.Images[container.Name]; !changes {
			continue
		}
		if _, found := s.LastContainerStatuses[container.Name]; found && len(s.ContainerBatchesRecord) == 0 {
			continue // of an earlier update that is still under way
		}
		if s.LastContainerStatuses == nil {
			s.LastContainerStatuses = map[string]record.ContainerStatus{}
		}
		s.LastContainerStatuses[container.Name] = Record(pod, container, report)
	}
}

// Record returns what runs in a container, as its spec stands. It is taken of the very version of the Pod that a write replaces.
func Record(pod *corev1.Pod, container *corev1.Container, report *containermeta.Report) record.ContainerStatus {
	before := record.ContainerStatus{Image: container.Image}
	if status := containerStatus(pod, container.Name); status != nil {
		before.ImageID, before.ContainerID = status.ImageID, status.ContainerID
		if entry := report.Find(container.Name); entry != nil && entry.ContainerID == status.ContainerID {
			before.PlainHash = entry.Hashes.PlainHash
		}
	}
	return before
}

// unfinished returns what to record of containers that an earlier update is still changing, whether or not this one changes
// them too. While the instance that the earlier update put an end to still runs, what it was created from is in that update's
// record and no longer in the spec.
func (c *Change) unfinished(pod *corev1.Pod) map[string]record.ContainerStatus {
	previous, err := record.Read(pod)
	if err != nil || previous == nil {
		return nil
	}
	report, err := containermeta.Read(pod)
	if err != nil {
		report = nil
	}
	var records map[string]record.ContainerStatus
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		recorded, found := previous.LastContainerStatuses[container.Name]
		if !found || Judge(pod, container, recorded, report) == Done {
			continue
		}
		before := Record(pod, container, report)
		if recorded.ContainerID == before.ContainerID {
			before.Image, before.PlainHash = recorded.Image, recorded.PlainHash
		} else if recorded.ContainerID != "" {
			// An instance between the two: whether it came before or after the node saw the spec, nobody knows.
			before.Image, before.PlainHash = "", 0
		}
		if records == nil {
			records = map[string]record.ContainerStatus{}
		}
		records[container.Name] = before
	}
	return records
}

func containerStatus(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == name {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}
