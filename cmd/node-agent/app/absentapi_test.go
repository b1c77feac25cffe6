package app

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/test/emptyhost"
)

// While an APIService is missing, the agent must not take the objects of its node for deleted.
func TestMissingAPIIsAnOutage(t *testing.T) {
	options, err := NewOptions()
	require.NoError(t, err)
	options.Kubeconfig = emptyhost.Kubeconfig(t)
	config, err := options.Config(t.Context())
	require.NoError(t, err)
	_, err = config.Client.NodeImages().List(t.Context(), metav1.ListOptions{})
	assert.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
}
