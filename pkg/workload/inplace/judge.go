package inplace

import (
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/containerreport"
	"kruise.io/kruise/pkg/workload/inplace/record"
)

// Verdict is what the node's reports say about one container whose image changed. A caller decides how long it waits for one
// that is in doubt.
type Verdict int

const (
	// Pending means that the node has not replaced the instance yet.
	Pending Verdict = iota
	// Unnamed means that the instance is the new one, unless the node is about to replace it.
	Unnamed
	// Unreported means that the kubelet reports the new instance, but the agent has not reported it yet.
	Unreported
	// Done means that the instance is the one that the write asked for.
	Done
)

// Judge decides whether the instance that the node reports is the one that a write to its container asked for. recorded must be
// the result of Record for the version that the write replaced.
//
// An instance other than the recorded one is the new instance if it was created from the spec's image. The recorded instance is
// right only if the update returned to the image that it was created from, before the node observed anything else. A report of
// the node counts only after the node has observed the newest spec, if the node reports a generation.
//
// The node agent reports what an instance was created from. Without an agent's report, the image in the status decides.
func Judge(pod *corev1.Pod, container *corev1.Container, recorded record.ContainerStatus, report *containerreport.Report) Verdict {
	status := containerStatus(pod, container.Name)
	if status == nil || !nodeSawSpec(pod) {
		return Pending
	}
	runsImage := sameImage(container.Image, status.Image, status.ImageID)
	if status.ContainerID == "" {
		return judgeWithoutID(status, recorded, runsImage)
	}
	entry := reported(report, status)
	created := createdFrom(container, recorded, entry)
	switch {
	// A record without an instance and without an image is of another release. Any sign of a new instance is enough.
	case recorded.ContainerID == "" && recorded.Image == "":
		return doneIf(runsImage || status.ImageID != recorded.ImageID || created == fromSpec)
	case status.ContainerID == recorded.ContainerID:
		return judgeRecorded(container, status, recorded, runsImage)
	case created != unknown:
		return doneIf(created == fromSpec)
	case runsImage && report != nil && entry == nil:
		return Unreported
	case runsImage:
		return Done
	case status.State.Running != nil:
		return Unnamed
	default:
		return Pending
	}
}

// JudgeAtOnce is Judge for a caller that cannot wait: it returns Done or Pending.
//
// An instance that the node agent has not reported counts as new, because the agent may be gone. A runtime may report another tag of
// the same image. Such an instance counts as new if its container ID has changed, and either its image ID has changed or the node has
// observed the newest spec.
func JudgeAtOnce(pod *corev1.Pod, container *corev1.Container, recorded record.ContainerStatus, report *containerreport.Report) Verdict {
	switch Judge(pod, container, recorded, report) {
	case Done, Unreported:
		return Done
	case Unnamed:
		now := containerStatus(pod, container.Name)
		return doneIf(recorded.ContainerID != "" && now.ContainerID != recorded.ContainerID &&
			(pod.Status.ObservedGeneration > 0 || now.ImageID != recorded.ImageID))
	default:
		return Pending
	}
}

// reported returns what the agent reports about the instance in the status, or nil. A report about another instance says
// nothing about this one.
func reported(report *containerreport.Report, status *corev1.ContainerStatus) *containerreport.Container {
	entry := report.Find(status.Name)
	if entry != nil && entry.ContainerID != status.ContainerID {
		return nil
	}
	return entry
}

// judgeWithoutID decides on an instance without an ID. Some virtual nodes give their instances none: then another image ID, or the image
// of the spec, is all that can show a new instance. Other nodes name no instance while none exists.
func judgeWithoutID(status *corev1.ContainerStatus, recorded record.ContainerStatus, runsImage bool) Verdict {
	if recorded.ContainerID != "" || status.ImageID == "" {
		return Pending
	}
	return doneIf(runsImage || status.ImageID != recorded.ImageID)
}

// judgeRecorded decides on an instance that already ran when the spec changed. If the update returned to the image of this
// instance, the node has nothing to do. Without that knowledge, the node may still replace the instance.
func judgeRecorded(container *corev1.Container, status *corev1.ContainerStatus, recorded record.ContainerStatus, runsImage bool) Verdict {
	switch {
	case status.State.Running == nil:
		return Pending
	case recorded.Image == container.Image:
		return Done
	case recorded.Image == "" || runsImage:
		return Unnamed
	default:
		return Pending
	}
}

// doneIf returns Done or Pending.
func doneIf(condition bool) Verdict {
	if condition {
		return Done
	}
	return Pending
}

// origin is what the agent's report proves about an instance.
type origin int

const (
	// unknown: the report proves nothing.
	unknown origin = iota
	// fromSpec: the instance was created from the spec as it is now.
	fromSpec
	// fromAnother: it was created from an earlier spec.
	fromAnother
)

// createdFrom compares an instance, which is not the recorded one, with the spec, using the agent's report. The kubelet's hash
// is only compared with the hash of the recorded instance. A different hash proves a different spec. There is no third spec
// between the record and the current spec; if there was one, the record has no hash.
func createdFrom(container *corev1.Container, recorded record.ContainerStatus, entry *containerreport.Container) origin {
	switch {
	case entry == nil:
		return unknown
	// An agent that reports the image gives a direct answer. The hash is a substitute where the runtime does not keep the
	// image.
	case entry.Image != "":
		if entry.Image == container.Image {
			return fromSpec
		}
		return fromAnother
	case entry.Hashes.PlainHash == 0 || recorded.PlainHash == 0:
		return unknown
	}
	same := entry.Hashes.PlainHash == recorded.PlainHash
	switch {
	case same == (recorded.Image == container.Image):
		return fromSpec
	case same:
		return fromAnother
	default:
		return unknown // Kubelets of other releases compute another hash.
	}
}
