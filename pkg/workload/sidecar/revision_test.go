package sidecar

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// When somebody patches a revision, kube-apiserver decodes its data, encodes it again, and refuses the patch if the bytes differ.
func TestDataOfARevisionKeepsItsBytesInAPatch(t *testing.T) {
	data, err := Data(&v1beta1.SidecarSetSpec{
		Containers: []v1beta1.SidecarContainer{{
			Container: corev1.Container{Name: "agent", Image: "agent:1", Args: []string{"a<b&c"}}, PodInjectPolicy: v1beta1.AfterAppContainerType,
		}},
		Volumes: []corev1.Volume{{Name: "data"}}, PatchPodMetadata: []v1beta1.SidecarSetPatchPodMetadata{{Annotations: map[string]string{"z": "1", "a": "2"}}},
	})
	require.NoError(t, err)
	var decoded any
	require.NoError(t, json.Unmarshal(data, &decoded))
	again, err := json.Marshal(decoded)
	require.NoError(t, err)
	assert.Equal(t, string(again), string(data))
}
