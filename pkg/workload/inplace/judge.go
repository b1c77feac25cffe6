package inplace

import (
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/containermeta"
	"kruise.io/kruise/pkg/workload/inplace/record"
)

// Verdict is what the node's reports say of one container whose image changed.
type Verdict int

const (
	// Pending is an instance that the node has not replaced yet.
	Pending Verdict = iota
	// Unnamed is an instance that must be the new one unless the node is about to replace it.
	Unnamed
	// Unreported is an instance that by the kubelet's word is the new one, and of which the agent has not said so yet.
	Unreported
	// Done is the instance that the write asked for.
	Done
)

// Judge decides by the instance that the node reports whether it is the one that a write to its container asked for. The record is
// what Record returned for the version that the write replaced.
//
// Another instance than the recorded one that was created from the spec's image is the new one. The recorded instance itself
// is right only when the update came back to what it was created from before the node saw anything else. Whatever the node
// reports counts once it has seen the spec as we wrote it, where it says what it saw.
//
// What an instance was created from the node's agent says. Where no agent reports, the image in the status says it.
func Judge(pod *corev1.Pod, container *corev1.Container, recorded record.ContainerStatus, report *containermeta.Report) Verdict {
	status := containerStatus(pod, container.Name)
	if status == nil || status.ContainerID == "" || !nodeSawSpec(pod) {
		return Pending
	}
	entry := reported(report, status)
	runsImage := sameImage(container.Image, status.Image, status.ImageID)
	created := createdFrom(container, recorded, entry)
	switch {
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

// reported is what the agent says of the instance in the status, or nil.
func reported(report *containermeta.Report, status *corev1.ContainerStatus) *containermeta.Container {
	entry := report.Find(status.Name)
	if entry != nil && entry.ContainerID != status.ContainerID {
		return nil
	}
	return entry
}

// judgeRecorded decides on an instance that ran already when the spec changed.
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

func doneIf(condition bool) Verdict {
	if condition {
		return Done
	}
	return Pending
}

// origin is what the agent's report proves of an instance.
type origin int

const (
	unknown origin = iota
	fromSpec
	fromAnother
)

// createdFrom compares an instance other than the recorded one with the spec, by the agent's report on it. The kubelet's hash
// is compared with that of the recorded instance alone: one that differs shows another spec, and between the record and
// the spec as it stands there is none in between, or the record says that nobody knows.
func createdFrom(container *corev1.Container, recorded record.ContainerStatus, entry *containermeta.Container) origin {
	switch {
	case entry == nil:
		return unknown
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
		return unknown // a kubelet of another release hashes otherwise
	}
}
