package imagetag

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// Kind is the kind of a tag's owner.
const Kind = "ImagePullJob"

// Wanted returns the tag of the NodeImage's spec for the reference, or nil. The pointer points into the NodeImage.
func (r Reference) Wanted(image *v1beta1.NodeImage) *v1beta1.ImageTagSpec {
	tags := image.Spec.Images[r.Name].Tags
	for i := range tags {
		if tags[i].Tag == r.Tag {
			return &tags[i]
		}
	}
	return nil
}

// Reported returns the last status that the node reported for the reference, for any version, or nil. The pointer points into
// the NodeImage.
func (r Reference) Reported(image *v1beta1.NodeImage) *v1beta1.ImageTagStatus {
	tags := image.Status.ImageStatuses[r.Name].Tags
	for i := range tags {
		if tags[i].Tag == r.Tag {
			return &tags[i]
		}
	}
	return nil
}

// Answer returns the status that the node reported for this version of the tag, or nil. A report of another version says
// nothing about what is wanted now.
func (r Reference) Answer(image *v1beta1.NodeImage, version int64) *v1beta1.ImageTagStatus {
	if report := r.Reported(image); report != nil && report.Version == version {
		return report
	}
	return nil
}

// OwnedBy reports whether the object with this UID asked for the tag. A tag can have several owners, or none if a user wrote
// it.
func OwnedBy(tag *v1beta1.ImageTagSpec, uid types.UID) bool {
	return slices.ContainsFunc(tag.OwnerReferences, func(ref corev1.ObjectReference) bool { return ref.UID == uid })
}

// IsJob reports whether the owner of a tag is an ImagePullJob, in any API version. Only such owners are looked up.
func IsJob(ref *corev1.ObjectReference) bool {
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	return ref.Kind == Kind && group == v1beta1.SchemeGroupVersion.Group
}

// OwnersIndex is the index of NodeImages by the UIDs of the objects that asked for their tags.
const OwnersIndex = "imagetag/owners"

// IndexOwners is the index function of OwnersIndex.
func IndexOwners(obj any) ([]string, error) {
	image, ok := obj.(*v1beta1.NodeImage)
	if !ok {
		return nil, nil
	}
	var uids []string
	for _, entry := range image.Spec.Images {
		for i := range entry.Tags {
			for j := range entry.Tags[i].OwnerReferences {
				if uid := string(entry.Tags[i].OwnerReferences[j].UID); !slices.Contains(uids, uid) {
					uids = append(uids, uid)
				}
			}
		}
	}
	return uids, nil
}
