package v1alpha1

import (
	"slices"
	"strings"

	"k8s.io/utils/ptr"
)

// SetDefaults_NodeImage fills the limits of each pull and sorts the tags. It does not set createdAt: that
// is the time of a write, and defaulting also runs on reads.
// +k8s:defaulter-gen=covers
func SetDefaults_NodeImage(in *NodeImage) {
	for _, image := range in.Spec.Images {
		for i := range image.Tags {
			SetDefaults_ImageTagSpec(&image.Tags[i])
		}
		slices.SortStableFunc(image.Tags, func(a, b ImageTagSpec) int { return strings.Compare(a.Tag, b.Tag) })
	}
	for _, image := range in.Status.ImageStatuses {
		slices.SortStableFunc(image.Tags, func(a, b ImageTagStatus) int { return strings.Compare(a.Tag, b.Tag) })
	}
}

// SetDefaults_ImageTagSpec fills the limits of the pull of one tag.
func SetDefaults_ImageTagSpec(in *ImageTagSpec) {
	if in.PullPolicy == nil {
		in.PullPolicy = &ImageTagPullPolicy{}
	}
	if in.PullPolicy.TimeoutSeconds == nil {
		in.PullPolicy.TimeoutSeconds = ptr.To[int32](600)
	}
	if in.PullPolicy.BackoffLimit == nil {
		in.PullPolicy.BackoffLimit = ptr.To[int32](3)
	}
}
