package app

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/test/emptyhost"

	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// While an APIService is missing, the controllers must not take objects for deleted.
func TestMissingAPIIsAnOutage(t *testing.T) {
	options, err := NewOptions(func(string) string { return "" })
	require.NoError(t, err)
	options.Kubeconfig = emptyhost.Kubeconfig(t)
	config, err := options.clientConfig()
	require.NoError(t, err)
	client, err := versioned.NewForConfig(config)
	require.NoError(t, err)
	_, err = client.AppsV1beta1().NodeImages().List(t.Context(), metav1.ListOptions{})
	assert.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
}
