// Package record owns the record of an in-place update, which is stored in annotations of the updated Pod: what ran in each
// container before, and what still has to change. Pods that were updated by earlier releases carry the same record, so its
// fields must never change. All code that reads or writes these annotations uses this package.
package record

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

// State is the record of an in-place update. It is the JSON value of an annotation.
type State struct {
	// Revision is the target of the update, and UpdateTimestamp when it began, or when its grace period began.
	Revision        string      `json:"revision"`
	UpdateTimestamp metav1.Time `json:"updateTimestamp"`
	// LastContainerStatuses holds what ran before in each container that the update touched.
	LastContainerStatuses map[string]ContainerStatus `json:"lastContainerStatuses"`
	// These say which kinds of changes the update has, and so what its end is judged by.
	UpdateEnvFromMetadata bool `json:"updateEnvFromMetadata,omitempty"`
	UpdateResources       bool `json:"updateResources,omitempty"`
	UpdateImages          bool `json:"updateImages,omitempty"`
	// RestartContainers holds the instance that the node agent must replace, by the name of a container that the update restarts.
	RestartContainers map[string]string `json:"restartContainers,omitempty"`
	// These are the changes that wait for a later batch, by container name.
	NextContainerImages    map[string]string                      `json:"nextContainerImages,omitempty"`
	NextContainerMetadata  map[string]metav1.ObjectMeta           `json:"nextContainerRefMetadata,omitempty"`
	NextContainerResources map[string]corev1.ResourceRequirements `json:"nextContainerResources,omitempty"`
	// PreCheckBeforeNext is set while changes wait.
	PreCheckBeforeNext *PreCheck `json:"preCheckBeforeNext,omitempty"`
	// ContainerBatchesRecord are the batches so far, oldest first. Records of early releases have none.
	ContainerBatchesRecord []Batch `json:"containerBatchesRecord,omitempty"`
}

// ContainerStatus is what ran in a container before an update touched it. Judge compares it with what runs now.
type ContainerStatus struct {
	ImageID string `json:"imageID,omitempty"`
	// ContainerID is the instance that the update must replace. Records of other releases lack it.
	ContainerID string `json:"containerID,omitempty"`
	// Image is the reference in the spec that the instance was created from, or empty if unknown.
	Image string `json:"image,omitempty"`
	// PlainHash is the hash that the node agent reported for the instance, or zero if unknown.
	PlainHash uint64 `json:"plainHash,omitempty"`
}

// PreCheck names the containers that must be ready before the next batch.
type PreCheck struct {
	ContainersRequiredReady []string `json:"containersRequiredReady,omitempty"`
}

// Batch is one set of containers that changed together.
type Batch struct {
	Timestamp  metav1.Time `json:"timestamp"`
	Containers []string    `json:"containers"`
}

// Grace is a change that waits while endpoints drain. It is the JSON value of an annotation.
type Grace struct {
	// Revision is the target of the update. The change is dropped if the Pod has another one when the time has come.
	Revision             string                                 `json:"revision"`
	ContainerImages      map[string]string                      `json:"containerImages,omitempty"`
	ContainerRefMetadata map[string]metav1.ObjectMeta           `json:"containerRefMetadata,omitempty"`
	ContainerResources   map[string]corev1.ResourceRequirements `json:"containerResources,omitempty"`
	// MetaDataPatch is JSON with the labels and annotations that change at once.
	MetaDataPatch         []byte `json:"metaDataPatch,omitempty"`
	UpdateEnvFromMetadata bool   `json:"updateEnvFromMetadata,omitempty"`
	GraceSeconds          int32  `json:"graceSeconds,omitempty"`
	// Records of other releases have the templates. They are not read.
	OldTemplate *corev1.PodTemplateSpec `json:"oldTemplate,omitempty"`
	NewTemplate *corev1.PodTemplateSpec `json:"newTemplate,omitempty"`
}

// Read returns the Pod's record, or nil when it was never updated in place. It returns an error if the annotation cannot be
// decoded.
func Read(pod *corev1.Pod) (*State, error) {
	return read[State](pod, pub.InPlaceUpdateStateKey, pub.InPlaceUpdateStateKeyOld)
}

// Exists reports whether the Pod was ever updated in place.
func Exists(pod *corev1.Pod) bool {
	_, today := pod.Annotations[pub.InPlaceUpdateStateKey]
	_, once := pod.Annotations[pub.InPlaceUpdateStateKeyOld]
	return today || once
}

// Drop removes the record from the given object.
func Drop(pod *corev1.Pod) {
	delete(pod.Annotations, pub.InPlaceUpdateStateKey)
	delete(pod.Annotations, pub.InPlaceUpdateStateKeyOld)
}

// Waits reports whether a change waits for a later batch. It looks at the text alone, because it is called for every Pod of every pass.
func Waits(pod *corev1.Pod) bool {
	return strings.Contains(pod.Annotations[pub.InPlaceUpdateStateKey], `"nextContainer`) ||
		strings.Contains(pod.Annotations[pub.InPlaceUpdateStateKeyOld], `"nextContainer`)
}

// ReadGrace returns the change that waits in the Pod, or nil. It returns an error if the annotation cannot be decoded.
func ReadGrace(pod *corev1.Pod) (*Grace, error) {
	return read[Grace](pod, pub.InPlaceUpdateGraceKey, pub.InPlaceUpdateGraceKeyOld)
}

// ReadSidecars returns the records of the Pod's sidecars by SidecarSet name, or nil if no sidecar was updated.
func ReadSidecars(pod *corev1.Pod) (map[string]State, error) {
	records, err := read[map[string]State](pod, pub.SidecarSetInPlaceUpdateStateKey)
	if records == nil {
		return nil, err
	}
	return *records, err
}

// WriteSidecars stores the records of the Pod's sidecars in the given object.
func WriteSidecars(pod *corev1.Pod, records map[string]State) error {
	text, err := json.Marshal(records)
	if err != nil {
		return fmt.Errorf("encode annotation %q of Pod %q: %w", pub.SidecarSetInPlaceUpdateStateKey, pod.Name, err)
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[pub.SidecarSetInPlaceUpdateStateKey] = string(text)
	return nil
}

// read decodes the first of the annotations that the Pod has, or returns nil if it has none. The name of this release comes
// first.
func read[T any](pod *corev1.Pod, keys ...string) (*T, error) {
	for _, key := range keys {
		text, found := pod.Annotations[key]
		if !found {
			continue
		}
		value := new(T)
		if err := json.Unmarshal([]byte(text), value); err != nil {
			return nil, fmt.Errorf("decode annotation %q of Pod %q: %w", key, pod.Name, err)
		}
		return value, nil
	}
	return nil, nil
}

// Write stores the record in the given object, under the current annotation only. The annotation of earlier releases is
// removed, so that there is one record.
func Write(pod *corev1.Pod, state *State) error {
	text, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("encode annotation %q of Pod %q: %w", pub.InPlaceUpdateStateKey, pod.Name, err)
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[pub.InPlaceUpdateStateKey] = string(text)
	delete(pod.Annotations, pub.InPlaceUpdateStateKeyOld)
	return nil
}
