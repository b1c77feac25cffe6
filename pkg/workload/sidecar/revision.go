package sidecar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/history"
)

// Revisions is how a SidecarSet's revisions are stored.
var Revisions = history.Format{HashLabel: pub.ControllerRevisionDataHashKey, Hash: dataHash, Same: sameContent}

// dataHash is history.DataHash, but a collision count of 0 means the same as none. The status has 0 from its first write on, so the
// names must not depend on whether that write was seen.
func dataHash(data []byte, collisionCount *int32) string {
	if collisionCount != nil && *collisionCount == 0 {
		collisionCount = nil
	}
	return history.DataHash(data, collisionCount)
}

// content is the part of a spec that a revision holds: what is injected. Strategies and selectors are not part of it, so their
// change makes no revision.
type content struct {
	Volumes          []corev1.Volume                      `json:"volumes"`
	Containers       []v1beta1.SidecarContainer           `json:"containers"`
	InitContainers   []v1beta1.SidecarContainer           `json:"initContainers"`
	ImagePullSecrets []corev1.LocalObjectReference        `json:"imagePullSecrets"`
	PatchPodMetadata []v1beta1.SidecarSetPatchPodMetadata `json:"patchPodMetadata"`
}

// Data returns what a revision stores of the spec. All fields are present, with null for a field that is not set. The form is
// that of a patch which replaces the spec.
func Data(spec *v1beta1.SidecarSetSpec) ([]byte, error) {
	return history.SpecData(&content{spec.Volumes, spec.Containers, spec.InitContainers, spec.ImagePullSecrets, spec.PatchPodMetadata})
}

// read returns the content that the data of a revision stores.
func read(data []byte) (*content, error) {
	stored := &struct {
		Spec content `json:"spec"`
	}{}
	if err := json.Unmarshal(data, stored); err != nil {
		return nil, fmt.Errorf("decode revision: %w", err)
	}
	return &stored.Spec, nil
}

// sameContent reports whether two revisions store the same content. Another encoding of the same content makes no new revision.
// Data that cannot be read equals only identical data.
func sameContent(a, b *appsv1.ControllerRevision) bool {
	if bytes.Equal(a.Data.Raw, b.Data.Raw) {
		return true
	}
	one, errOne := read(a.Data.Raw)
	other, errOther := read(b.Data.Raw)
	return errOne == nil && errOther == nil && apiequality.Semantic.DeepEqual(one, other)
}

// Stores reports whether a revision stores a version of the SidecarSet. Revisions of a deleted SidecarSet with the same name are controlled
// by its UID, until garbage collection deletes them. A revision without a controller counts: nothing says that it is of another one.
func Stores(revision *appsv1.ControllerRevision, set metav1.Object) bool {
	ref := metav1.GetControllerOfNoCopy(revision)
	return revision.Labels[pub.SidecarSetNameKey] == set.GetName() && (ref == nil || ref.UID == set.GetUID())
}

// Pins reports whether the strategy names a stored revision for new Pods.
func Pins(wanted *v1beta1.SidecarSetInjectRevision) bool {
	return wanted != nil && (ptr.Deref(wanted.RevisionName, "") != "" || ptr.Deref(wanted.CustomVersion, "") != "")
}

// Pinned returns the revision that is injected into new Pods of a SidecarSet, or nil if it is not among those given. A name comes before a
// version. Several revisions can have one version, for example after the template changed under the same version; then the newest that
// the SidecarSet owns is used.
func Pinned(
	set metav1.Object, wanted *v1beta1.SidecarSetInjectRevision, revisions []*appsv1.ControllerRevision,
) (found *appsv1.ControllerRevision) {
	if !Pins(wanted) {
		return nil
	}
	name, version := ptr.Deref(wanted.RevisionName, ""), ptr.Deref(wanted.CustomVersion, "")
	for _, revision := range revisions {
		chosen := revision.Name == name
		if name == "" {
			chosen = revision.Labels[pub.SidecarSetCustomVersionKey] == version
		}
		if chosen && Stores(revision, set) && (found == nil || newer(set, revision, found)) {
			found = revision
		}
	}
	return found
}

// newer compares revisions that store a version of the SidecarSet. One that the SidecarSet owns comes before one without a controller, and
// then the number decides. The name decides between equal numbers, so all programs choose the same one.
func newer(set metav1.Object, a, b *appsv1.ControllerRevision) bool {
	if owned := metav1.IsControlledBy(a, set); owned != metav1.IsControlledBy(b, set) {
		return owned
	}
	return a.Revision > b.Revision || a.Revision == b.Revision && strings.Compare(a.Name, b.Name) > 0
}

// Restore returns the SidecarSet as the revision stored it. What a revision does not hold, such as selectors and strategies, is
// that of the given SidecarSet, which does not change. The hashes are those that were stored with the revision, or are computed
// for a revision of an early release.
func Restore(set *v1beta1.SidecarSet, revision *appsv1.ControllerRevision) (*v1beta1.SidecarSet, error) {
	stored, err := read(revision.Data.Raw)
	if err != nil {
		return nil, fmt.Errorf("restore revision %q of SidecarSet %q: %w", revision.Name, set.Name, err)
	}
	restored := set.DeepCopy()
	restored.Spec.Volumes, restored.Spec.Containers, restored.Spec.InitContainers = stored.Volumes, stored.Containers, stored.InitContainers
	restored.Spec.ImagePullSecrets, restored.Spec.PatchPodMetadata = stored.ImagePullSecrets, stored.PatchPodMetadata
	restored.Status.LatestRevision, restored.Status.ObservedGeneration = revision.Name, set.Generation
	// The annotations of a SidecarSet are copied to its revision.
	full, withoutImage := revision.Annotations[pub.SidecarSetHashKey], revision.Annotations[pub.SidecarSetHashWithoutImageKey]
	if full == "" || withoutImage == "" {
		if full, withoutImage, err = restored.Spec.Hashes(); err != nil {
			return nil, fmt.Errorf("restore revision %q of SidecarSet %q: %w", revision.Name, set.Name, err)
		}
	}
	if restored.Annotations == nil {
		restored.Annotations = map[string]string{}
	}
	restored.Annotations[pub.SidecarSetHashKey], restored.Annotations[pub.SidecarSetHashWithoutImageKey] = full, withoutImage
	return restored, nil
}

// RevisionName returns the name of the revision that holds the spec. The status names it once the controller has observed the
// spec. Before that, the controller is going to use the stored revision with this content, or to create one, and the name is
// decided here as it will be there. So Pods that are created before the revision record its name already. stored returns the
// SidecarSet's revisions in a slice of its own. It is called only for a spec that was not observed.
func RevisionName(set *v1beta1.SidecarSet, stored func() []*appsv1.ControllerRevision) string {
	if set.Status.ObservedGeneration >= set.Generation && set.Status.LatestRevision != "" {
		return set.Status.LatestRevision
	}
	data, err := Data(&set.Spec)
	if err != nil {
		return set.Status.LatestRevision
	}
	revisions := stored()
	history.Sort(revisions)
	if existing := Revisions.Resolve(&history.Content{Data: data}, revisions).Revision; existing != nil {
		return existing.Name
	}
	return set.Name + "-" + Revisions.Hash(data, set.Status.CollisionCount)
}
