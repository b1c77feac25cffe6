package app

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/admission"
	genericinitializer "k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/apiserver"
	"kruise.io/kruise/test/emptyhost"
)

// reviewer is a plugin that keeps its clients.
type reviewer struct {
	*admission.Handler
	initializer.HostClient
	initializer.MetadataClient
}

func (r *reviewer) SetReviewClients(host kubernetes.Interface, metadata metadata.Interface) {
	r.Host, r.Metadata = host, metadata
}

func TestWritesOfUsersDoNotDelayReviews(t *testing.T) {
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}`)
	}))
	defer host.Close()
	config := &rest.Config{Host: host.URL, QPS: 0.001, Burst: 1}
	shared, sharedMetadata := kubernetes.NewForConfigOrDie(config), metadata.NewForConfigOrDie(config)
	i := initializer.Initializer{Metadata: sharedMetadata, ReviewClients: reviewClients(config)}
	budgets, creations := &reviewer{}, &reviewer{}
	for _, plugin := range []*reviewer{budgets, creations} {
		plugin.SetExternalKubeClientSet(shared)
		i.Initialize(plugin)
	}

	// A request that the rate limit would hold back beyond its deadline fails at once.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	get := func(client kubernetes.Interface) error {
		_, err := client.CoreV1().Pods("shop").Get(ctx, "web", metav1.GetOptions{})
		return err
	}
	getMetadata := func(client metadata.Interface) error {
		_, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace("shop").Get(ctx, "web", metav1.GetOptions{})
		return err
	}
	require.NoError(t, get(shared))
	require.Error(t, get(shared), "the shared limit is used up")
	require.NoError(t, getMetadata(sharedMetadata))
	require.Error(t, getMetadata(sharedMetadata), "the shared limit is used up")
	for _, plugin := range []*reviewer{budgets, creations} {
		assert.NoError(t, get(plugin.Host))
		assert.NoError(t, getMetadata(plugin.Metadata))
	}
}

// TestKindsUseTheTimeOfKubeAPIServer checks that kinds get the clock that reads the answers of the host cluster.
func TestKindsUseTheTimeOfKubeAPIServer(t *testing.T) {
	options, err := NewOptions()
	require.NoError(t, err)
	options.CoreAPI.CoreAPIKubeconfigPath = emptyhost.Kubeconfig(t)
	scheme, err := apiserver.NewScheme()
	require.NoError(t, err)
	config := apiserver.NewConfig(scheme, serializer.NewCodecFactory(scheme), options.Gates.Kruise)
	require.NoError(t, options.applyHost(config))
	assert.Same(t, options.Clock, config.Backends.Clock)
}

// TestEveryReviewHasItsOwnClients checks the plugins that read the host cluster to answer reviews.
func TestEveryReviewHasItsOwnClients(t *testing.T) {
	options, err := NewOptions()
	require.NoError(t, err)
	for _, row := range reviews {
		for _, name := range row.Plugins {
			given := &capture{}
			_, _ = options.Admission.Plugins.InitPlugin(name, nil, given) // It fails, because the plugin lacks its other dependencies.
			require.NotNil(t, given.plugin, name)
			if _, reads := given.plugin.(genericinitializer.WantsExternalKubeClientSet); !reads {
				continue
			}
			assert.Implements(t, (*initializer.WantsReviewClients)(nil), given.plugin, name)
		}
	}
}

// capture keeps the plugin that it is to initialize.
type capture struct{ plugin admission.Interface }

func (c *capture) Initialize(plugin admission.Interface) { c.plugin = plugin }
