package controller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTrim(t *testing.T) {
	node := &corev1.Node{Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{SizeBytes: 1}}}}
	node.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
	trimmed, err := Trim(node)
	require.NoError(t, err)
	assert.Equal(t, &corev1.Node{}, trimmed)
}
