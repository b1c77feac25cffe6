package inplace

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/inplace/record"
)

// metadataPatch is a stored change of metadata. A null value removes the key. Its form is part of the record, so it must not
// change.
type metadataPatch struct {
	Metadata struct {
		Labels      map[string]*string `json:"labels,omitempty"`
		Annotations map[string]*string `json:"annotations,omitempty"`
	} `json:"metadata"`
}

// Delay takes the change into the record of the given object, which the caller owns, to be made after the grace period in
// seconds. The caller takes the Pod out of service in the same write, so endpoints have that time to remove the Pod. revision
// is the target of the update.
func (c *Change) Delay(pod *corev1.Pod, revision string, seconds int32, now time.Time) error {
	c = c.withWaiting(pod)
	var patch metadataPatch
	patch.Metadata.Labels, patch.Metadata.Annotations = c.Labels.nullable(), c.Annotations.nullable()
	metadata, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode metadata of Pod %q: %w", pod.Name, err)
	}
	grace, err := json.Marshal(record.Grace{
		Revision: revision, ContainerImages: c.Images, ContainerRefMetadata: c.Env, ContainerResources: c.Resources,
		MetaDataPatch: metadata, UpdateEnvFromMetadata: len(c.Env) > 0, GraceSeconds: seconds,
	})
	if err != nil {
		return fmt.Errorf("encode annotation %q of Pod %q: %w", pub.InPlaceUpdateGraceKey, pod.Name, err)
	}
	// The record has whole seconds. Rounding up never shortens the grace period.
	begin := metav1.NewTime(now.Add(time.Second - 1).UTC().Truncate(time.Second))
	if previous, err := record.Read(pod); c.instead && err == nil && previous != nil {
		begin = previous.UpdateTimestamp
	}
	state := &record.State{Revision: revision, UpdateTimestamp: begin}
	// No part of this change is in progress yet, but an earlier change may be.
	if blocked := c.inherit(pod, state); len(blocked) > 0 {
		state.PreCheckBeforeNext = &record.PreCheck{ContainersRequiredReady: blocked}
	}
	dropGrace(pod)
	if err := record.Write(pod, state); err != nil {
		return err
	}
	pod.Annotations[pub.InPlaceUpdateGraceKey] = string(grace)
	return nil
}

// Instead returns the change that takes the place of the one that waits in the Pod for its grace period. It is both changes together, and
// this one takes precedence, but without what the Pod has already. So a change back to what the Pod runs touches no container. The grace
// period goes on. Without a waiting change, Instead returns this change. If the waiting change cannot be read, nobody knows what the Pod
// lacks, and the error is ErrUnreadable.
func (c *Change) Instead(pod *corev1.Pod) (*Change, error) {
	if !Delayed(pod) {
		return c, nil
	}
	if grace, err := record.ReadGrace(pod); err != nil || grace == nil || grace.Revision == "" {
		return nil, ErrUnreadable
	} else if _, err := delayedChange(grace); err != nil {
		return nil, err
	}
	both := c.withWaiting(pod)
	all := &Change{
		Images: map[string]string{}, Env: map[string]metav1.ObjectMeta{}, Resources: map[string]corev1.ResourceRequirements{},
		Labels: both.Labels, Annotations: both.Annotations, instead: true,
	}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if image, changes := both.Images[container.Name]; changes && image != container.Image {
			all.Images[container.Name] = image
		}
		read := both.Env[container.Name]
		read.Labels, read.Annotations = missing(read.Labels, pod.Labels), missing(read.Annotations, pod.Annotations)
		if len(read.Labels)+len(read.Annotations) > 0 {
			all.Env[container.Name] = read
		}
		resized := container.DeepCopy()
		setAmounts(resized, both.Resources[container.Name])
		if !apiequality.Semantic.DeepEqual(resized.Resources, container.Resources) {
			all.Resources[container.Name] = both.Resources[container.Name]
		}
	}
	return all, nil
}

// missing returns the wanted entries that a map does not have.
func missing(wanted, has map[string]string) map[string]string {
	var result map[string]string
	for key, value := range wanted {
		if present, found := has[key]; !found || present != value {
			result = with(result, key, value)
		}
	}
	return result
}

// ErrUnreadable says that the change which waits in a Pod cannot be read. The Pod has the label of the new revision already.
var ErrUnreadable = errors.New("its delayed update cannot be read")

// Resume makes the stored change in the given object, which the caller owns, if its time has come. Otherwise it returns the
// remaining time, rounded up to whole seconds. atRevision reports whether the Pod is still at a revision. A stored change is
// dropped if another update replaced it. If the record of the time is lost, the grace period begins again. If the change itself
// cannot be read, the error is ErrUnreadable.
func Resume(pod *corev1.Pod, atRevision func(string) bool, now time.Time) (remaining time.Duration, err error) {
	grace, err := record.ReadGrace(pod)
	if err != nil || grace == nil || grace.Revision == "" {
		return 0, ErrUnreadable
	}
	if !atRevision(grace.Revision) {
		dropGrace(pod)
		return 0, nil
	}
	change, err := delayedChange(grace)
	if err != nil {
		return 0, err
	}
	state, err := record.Read(pod)
	if err != nil || state == nil {
		return 0, change.Delay(pod, grace.Revision, grace.GraceSeconds, now)
	}
	due := state.UpdateTimestamp.Add(time.Duration(grace.GraceSeconds) * time.Second)
	if wait := due.Sub(now); wait > 0 {
		return (wait + time.Second - 1).Truncate(time.Second), nil
	}
	return 0, change.apply(pod, grace.Revision, state.UpdateTimestamp.Time, now)
}

// delayedChange returns the change that a record holds. The error is ErrUnreadable.
func delayedChange(grace *record.Grace) (*Change, error) {
	change := &Change{Images: grace.ContainerImages, Env: grace.ContainerRefMetadata, Resources: grace.ContainerResources}
	if len(grace.MetaDataPatch) > 0 {
		var patch metadataPatch
		if json.Unmarshal(grace.MetaDataPatch, &patch) != nil {
			return nil, ErrUnreadable
		}
		change.Labels, change.Annotations = plain(patch.Metadata.Labels), plain(patch.Metadata.Annotations)
	}
	return change, nil
}

// Delayed reports whether a change waits in the Pod, under the annotation of this release or of an earlier one.
func Delayed(pod *corev1.Pod) bool {
	_, today := pod.Annotations[pub.InPlaceUpdateGraceKey]
	_, once := pod.Annotations[pub.InPlaceUpdateGraceKeyOld]
	return today || once
}

// SameWaiting reports whether the same change waits in both versions of a Pod, or none.
func SameWaiting(a, b *corev1.Pod) bool {
	return a.Annotations[pub.InPlaceUpdateGraceKey] == b.Annotations[pub.InPlaceUpdateGraceKey] &&
		a.Annotations[pub.InPlaceUpdateGraceKeyOld] == b.Annotations[pub.InPlaceUpdateGraceKeyOld]
}

// dropGrace removes the stored change from the given object.
func dropGrace(pod *corev1.Pod) {
	delete(pod.Annotations, pub.InPlaceUpdateGraceKey)
	delete(pod.Annotations, pub.InPlaceUpdateGraceKeyOld)
}

// nullable returns the change as one map, in which nil removes a key. plain is the inverse.
func (m MapChange) nullable() map[string]*string {
	values := map[string]*string{}
	for key, value := range m.Set {
		values[key] = &value
	}
	for _, key := range m.Remove {
		values[key] = nil
	}
	return values
}

// plain returns the change that a stored map stands for.
func plain(values map[string]*string) MapChange {
	change := MapChange{Set: map[string]string{}}
	for key, value := range values {
		if value == nil {
			change.Remove = append(change.Remove, key)
		} else {
			change.Set[key] = *value
		}
	}
	return change
}
