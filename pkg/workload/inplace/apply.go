package inplace

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/containerreport"
	"kruise.io/kruise/pkg/workload/inplace/record"
)

// Apply changes the given object, which the caller owns, and records in it what ran before. The object must be the version that
// the write replaces. Otherwise the record may name another instance than the one that the write ends. Changes for containers
// of a lower launch priority are recorded too, for Advance. revision is the target of the update. It returns an error if the
// record cannot be encoded.
func (c *Change) Apply(pod *corev1.Pod, revision string, now time.Time) error {
	return c.apply(pod, revision, now, now)
}

// apply makes the change of an update that may have started earlier: the record has started as its time, and the batch has now.
func (c *Change) apply(pod *corev1.Pod, revision string, started, now time.Time) error {
	c = c.withWaiting(pod)
	state := &record.State{
		Revision: revision, UpdateTimestamp: metav1.NewTime(started.UTC()), UpdateImages: len(c.Images) > 0,
		UpdateEnvFromMetadata: len(c.Env) > 0, UpdateResources: len(c.Resources) > 0,
	}
	// This must come before the containers change: Judge compares the status with the spec of the earlier update.
	blocked := c.inherit(pod, state)
	c.applyTurn(pod, state, blocked, now)
	pod.Labels = c.Labels.apply(pod.Labels)
	pod.Annotations = c.Annotations.apply(pod.Annotations)
	dropGrace(pod)
	return record.Write(pod, state)
}

// Advance changes the next batch of containers in the given object, which the caller owns. It is due when Evaluate returns Next.
// It returns an error if no container waits.
func Advance(pod *corev1.Pod, now time.Time) error {
	state, err := record.Read(pod)
	if err != nil {
		return err
	}
	if state == nil || !waits(state) {
		return fmt.Errorf("advance Pod %q: no container waits for its update", pod.Name)
	}
	c := &Change{Images: state.NextContainerImages, Env: state.NextContainerMetadata, Resources: state.NextContainerResources}
	c.applyTurn(pod, state, nil, now)
	return record.Write(pod, state)
}

// applyTurn changes the containers of the current batch, and stores the changes of the others in the state. The containers of
// this batch, and the blocked ones of an earlier update, must be ready before the next batch begins.
func (c *Change) applyTurn(pod *corev1.Pod, state *record.State, blocked []string, now time.Time) {
	turn, later := c.split(pod, blocked)
	// The record is made before the spec changes.
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
		state.PreCheckBeforeNext = &record.PreCheck{ContainersRequiredReady: append(slices.Clone(blocked), names...)}
	}
	if len(names) > 0 {
		state.ContainerBatchesRecord = append(state.ContainerBatchesRecord, record.Batch{Timestamp: metav1.NewTime(now.UTC()), Containers: names})
	}
}

// recordTurn records what runs in the containers that restart or whose image changes. If an earlier update is still changing one, only
// its record says what the instance was created from. The records of other containers stay valid for the instances that those containers
// were given. A report that cannot be read counts as none.
func recordTurn(s *record.State, pod *corev1.Pod, turn *Change) {
	report := reportOf(pod)
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		status := containerStatus(pod, container.Name)
		if turn.restarts(container.Name) && status != nil && status.ContainerID != "" {
			s.RestartContainers = with(s.RestartContainers, container.Name, status.ContainerID)
		}
		if _, changes := turn.Images[container.Name]; !changes {
			continue
		}
		if s.LastContainerStatuses == nil {
			s.LastContainerStatuses = map[string]record.ContainerStatus{}
		}
		if recorded, found := s.LastContainerStatuses[container.Name]; found {
			s.LastContainerStatuses[container.Name] = RecordAgain(pod, container, recorded, report)
		} else {
			s.LastContainerStatuses[container.Name] = Record(pod, container, report)
		}
	}
}

// reportOf returns the report of the node agent, or nil if it is missing or cannot be read.
func reportOf(pod *corev1.Pod) *containerreport.Report {
	report, err := containerreport.Read(pod)
	if err != nil {
		return nil // The agent will replace the report.
	}
	return report
}

// Record returns what runs in a container and the image in its spec. The Pod must be the version that a write replaces.
func Record(pod *corev1.Pod, container *corev1.Container, report *containerreport.Report) record.ContainerStatus {
	before := record.ContainerStatus{Image: container.Image}
	if status := containerStatus(pod, container.Name); status != nil {
		before.ImageID, before.ContainerID = status.ImageID, status.ContainerID
		if entry := report.Find(container.Name); entry != nil && entry.ContainerID == status.ContainerID {
			before.PlainHash = entry.Hashes.PlainHash
		}
	}
	return before
}

// inherit takes what an earlier update has not finished into the record of this one, whether or not this update changes the same
// containers. Otherwise nothing would wait for it any more. It returns the containers that block the waiting ones: those of the last batch
// that are not ready or not finished, and that this update does not change again.
func (c *Change) inherit(pod *corev1.Pod, state *record.State) (blocked []string) {
	previous, err := record.Read(pod)
	if err != nil || previous == nil {
		return nil
	}
	report := reportOf(pod)
	state.LastContainerStatuses = unfinishedImages(pod, previous, report)
	state.RestartContainers = unfinishedRestarts(pod, previous)
	// What waits for its batch has been taken into this change, and its container is judged too.
	begun := *previous
	begun.NextContainerImages, begun.NextContainerMetadata, begun.NextContainerResources = nil, nil, nil
	var unfinished []string
	if previous.UpdateEnvFromMetadata {
		unfinished = staleEnvironments(pod, &begun, report)
		state.UpdateEnvFromMetadata = state.UpdateEnvFromMetadata || len(unfinished) > 0
	}
	// The status of the resources only counts for the newest spec.
	if previous.UpdateResources && (!nodeSawSpec(pod) || !resized(pod, &begun)) {
		state.UpdateResources = true
		unfinished = union(unfinished, touchedBy(pod, previous))
	}
	if len(unfinished) > 0 {
		state.ContainerBatchesRecord = []record.Batch{{Timestamp: previous.UpdateTimestamp, Containers: unfinished}}
	}
	if previous.PreCheckBeforeNext == nil {
		return nil
	}
	return slices.DeleteFunc(previous.PreCheckBeforeNext.ContainersRequiredReady, func(name string) bool {
		_, changing := state.LastContainerStatuses[name]
		_, restarting := state.RestartContainers[name]
		ready := !changing && !restarting && !slices.Contains(unfinished, name) && isReady(pod, name)
		return ready || c.touches(name)
	})
}

// isReady reports whether the node says that a container is ready.
func isReady(pod *corev1.Pod, container string) bool {
	status := containerStatus(pod, container)
	return status != nil && status.Ready
}

// touchedBy returns the containers of the Pod that an update changes.
func touchedBy(pod *corev1.Pod, state *record.State) (names []string) {
	for i := range pod.Spec.Containers {
		if name := pod.Spec.Containers[i].Name; touched(state, name) {
			names = append(names, name)
		}
	}
	return names
}

// union returns the names of both lists, each once, sorted.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// unfinishedRestarts returns the instances that an earlier update told the node agent to replace and that still run.
func unfinishedRestarts(pod *corev1.Pod, previous *record.State) (instances map[string]string) {
	for name, id := range previous.RestartContainers {
		if status := containerStatus(pod, name); status != nil && status.ContainerID == id {
			instances = with(instances, name, id)
		}
	}
	return instances
}

// unfinishedImages returns the records of containers whose images an earlier update is still changing.
func unfinishedImages(pod *corev1.Pod, previous *record.State, report *containerreport.Report) map[string]record.ContainerStatus {
	var records map[string]record.ContainerStatus
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		recorded, found := previous.LastContainerStatuses[container.Name]
		if !found || Judge(pod, container, recorded, report) == Done {
			continue
		}
		if records == nil {
			records = map[string]record.ContainerStatus{}
		}
		records[container.Name] = recorded
	}
	return records
}

// RecordAgain is Record for a container that has a record of an earlier write, which the node may not have completed yet.
// SidecarSets use it, whose records are apart from those of workloads.
func RecordAgain(pod *corev1.Pod, container *corev1.Container, recorded record.ContainerStatus,
	report *containerreport.Report) record.ContainerStatus {
	if Judge(pod, container, recorded, report) == Done {
		return Record(pod, container, report)
	}
	return recordUnfinished(pod, container, recorded, report)
}

// recordUnfinished returns what runs in a container whose last change the node has not completed. The spec has the image of
// that change, so what the running instance was created from comes from the earlier record.
func recordUnfinished(pod *corev1.Pod, container *corev1.Container, recorded record.ContainerStatus,
	report *containerreport.Report) record.ContainerStatus {
	before := Record(pod, container, report)
	if recorded.ContainerID == before.ContainerID {
		before.Image, before.PlainHash = recorded.Image, recorded.PlainHash
	} else if recorded.ContainerID != "" {
		// A third instance runs. It is unknown whether it was created before or after the node observed the spec.
		before.Image, before.PlainHash = "", 0
	}
	return before
}

// containerStatus returns the status of a container, or nil if the node has not reported it.
func containerStatus(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == name {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}
