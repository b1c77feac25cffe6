package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// While an APIService is missing, the controllers must not take objects for deleted.
func TestMissingAPIIsAnOutage(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	options, err := NewOptions(func(string) string { return "" })
	require.NoError(t, err)
	options.Kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"clusters":[{"name":"a","cluster":{"server":%q}}],`+
		`"contexts":[{"name":"a","context":{"cluster":"a"}}],"current-context":"a"}`, server.URL)
	require.NoError(t, os.WriteFile(options.Kubeconfig, []byte(text), 0o600))
	config, err := options.clientConfig()
	require.NoError(t, err)
	client, err := versioned.NewForConfig(config)
	require.NoError(t, err)
	_, err = client.AppsV1beta1().NodeImages().List(t.Context(), metav1.ListOptions{})
	assert.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
}
