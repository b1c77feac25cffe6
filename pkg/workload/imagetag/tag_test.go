package imagetag

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

func TestTagsAndTheirAnswers(t *testing.T) {
	ref := Reference{Name: "nginx", Tag: "1"}
	owner := corev1.ObjectReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "ImagePullJob", UID: "a"}
	image := &v1beta1.NodeImage{
		Spec: v1beta1.NodeImageSpec{Images: map[string]v1beta1.ImageSpec{
			"nginx": {Tags: []v1beta1.ImageTagSpec{{Tag: "0"}, {Tag: "1", Version: 2, OwnerReferences: []corev1.ObjectReference{owner, {UID: "b"}}}}},
			"redis": {Tags: []v1beta1.ImageTagSpec{{Tag: "1", OwnerReferences: []corev1.ObjectReference{owner}}}},
		}},
		Status: v1beta1.NodeImageStatus{ImageStatuses: map[string]v1beta1.ImageStatus{
			"nginx": {Tags: []v1beta1.ImageTagStatus{{Tag: "1", Version: 1}}},
		}},
	}
	tag := ref.Wanted(image)
	require.NotNil(t, tag)
	assert.EqualValues(t, 2, tag.Version)
	assert.True(t, OwnedBy(tag, "a"))
	assert.False(t, OwnedBy(tag, "c"))
	assert.NotNil(t, ref.Reported(image))
	assert.Nil(t, ref.Answer(image, 2), "it answers an older version")
	assert.NotNil(t, ref.Answer(image, 1))
	other := Reference{Name: "other", Tag: "1"}
	assert.Nil(t, other.Wanted(image))
	assert.Nil(t, other.Reported(image))

	uids, err := IndexOwners(image)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"a", "b"}, uids)
	uids, err = IndexOwners(&corev1.Pod{})
	require.NoError(t, err)
	assert.Empty(t, uids)

	assert.True(t, IsJob(&owner))
	assert.False(t, IsJob(&corev1.ObjectReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet"}))
	assert.False(t, IsJob(&corev1.ObjectReference{APIVersion: "batch/v1", Kind: "ImagePullJob"}))
}
