package v1alpha1_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
)

func TestDefaultsOfPulls(t *testing.T) {
	for name, test := range map[string]struct {
		written, want v1alpha1.ImagePullJobTemplate
	}{
		"nothing set": {
			want: v1alpha1.ImagePullJobTemplate{
				PullPolicy:       &v1alpha1.PullPolicy{TimeoutSeconds: ptr.To[int32](600), BackoffLimit: ptr.To[int32](3)},
				CompletionPolicy: v1alpha1.CompletionPolicy{Type: "Always"}, ImagePullPolicy: "IfNotPresent",
			},
		},
		"kept": {
			written: v1alpha1.ImagePullJobTemplate{
				PullPolicy:       &v1alpha1.PullPolicy{TimeoutSeconds: ptr.To[int32](0), BackoffLimit: ptr.To[int32](0)},
				CompletionPolicy: v1alpha1.CompletionPolicy{Type: "Never"}, ImagePullPolicy: "Always",
			},
			want: v1alpha1.ImagePullJobTemplate{
				PullPolicy:       &v1alpha1.PullPolicy{TimeoutSeconds: ptr.To[int32](0), BackoffLimit: ptr.To[int32](0)},
				CompletionPolicy: v1alpha1.CompletionPolicy{Type: "Never"}, ImagePullPolicy: "Always",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			job := &v1alpha1.ImagePullJob{Spec: v1alpha1.ImagePullJobSpec{ImagePullJobTemplate: *test.written.DeepCopy()}}
			newScheme(t).Default(job)
			require.Equal(t, test.want, job.Spec.ImagePullJobTemplate)
			list := &v1alpha1.ImageListPullJob{Spec: v1alpha1.ImageListPullJobSpec{ImagePullJobTemplate: *test.written.DeepCopy()}}
			newScheme(t).Default(list)
			require.Equal(t, test.want, list.Spec.ImagePullJobTemplate)
		})
	}
}

// TestDefaultsOfNodeImages is row 8 of the cases of image pre-download, but for createdAt, which
// only a write fills.
func TestDefaultsOfNodeImages(t *testing.T) {
	policy := &v1alpha1.ImageTagPullPolicy{TimeoutSeconds: ptr.To[int32](1), BackoffLimit: ptr.To[int32](0), TTLSecondsAfterFinished: ptr.To[int32](5)}
	written := &v1alpha1.NodeImage{
		Spec: v1alpha1.NodeImageSpec{Images: map[string]v1alpha1.ImageSpec{"nginx": {Tags: []v1alpha1.ImageTagSpec{
			{Tag: "b"}, {Tag: "a", PullPolicy: policy.DeepCopy()},
		}}}},
		Status: v1alpha1.NodeImageStatus{ImageStatuses: map[string]v1alpha1.ImageStatus{"nginx": {Tags: []v1alpha1.ImageTagStatus{{Tag: "b"}, {Tag: "a"}}}}},
	}
	newScheme(t).Default(written)
	require.Equal(t, []v1alpha1.ImageTagSpec{
		{Tag: "a", PullPolicy: policy},
		{Tag: "b", PullPolicy: &v1alpha1.ImageTagPullPolicy{TimeoutSeconds: ptr.To[int32](600), BackoffLimit: ptr.To[int32](3)}},
	}, written.Spec.Images["nginx"].Tags)
	require.Equal(t, []v1alpha1.ImageTagStatus{{Tag: "a"}, {Tag: "b"}}, written.Status.ImageStatuses["nginx"].Tags)
}
