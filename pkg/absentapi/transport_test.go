package absentapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// A missing API is an outage for clients of objects. A missing object, and a missing version in discovery, are what they are.
func TestMissingAPIIsNoMissingObject(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("resourceVersion") != "" { // Requests of this test for objects that the server does not have.
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"name":"web"}}`)
			return
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	config.Wrap(Wrap)
	client, err := versioned.NewForConfig(config)
	require.NoError(t, err)
	ctx := t.Context()

	_, err = client.AppsV1beta1().CloneSets("ns").Get(ctx, "web", metav1.GetOptions{})
	assert.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
	_, err = client.PolicyV1beta1().PodUnavailableBudgets("").List(ctx, metav1.ListOptions{})
	assert.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
	err = client.AppsV1alpha1().NodePodProbes().Delete(ctx, "node", metav1.DeleteOptions{})
	assert.True(t, apierrors.IsServiceUnavailable(err), "%v", err)

	_, err = client.AppsV1beta1().CloneSets("ns").Get(ctx, "web", metav1.GetOptions{ResourceVersion: "1"})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = client.Discovery().ServerResourcesForGroupVersion("apps.kruise.io/v1beta1")
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	err = client.Discovery().RESTClient().Get().AbsPath("/apis/example.com/v1/games/a").Do(ctx).Error()
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
}
