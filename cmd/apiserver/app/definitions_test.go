package app

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregatorfake "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/fake"
)

// TestDefinitionsOfOpenKruiseAreReported starts beside CustomResourceDefinitions, as after "kubectl apply -f install.yaml" on a cluster with
// OpenKruise. A server of a take-over expects them.
func TestDefinitionsOfOpenKruiseAreReported(t *testing.T) {
	t.Parallel()
	const name = "v1alpha1.apps.kruise.io"
	ours := apiregistrationv1.APIServiceSpec{Service: &apiregistrationv1.ServiceReference{Name: "kruise-apiserver"}}
	for title, test := range map[string]struct {
		service *apiregistrationv1.APIService
		awaits  bool
		reports bool
	}{
		"ours":  {service: &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: ours}},
		"local": {service: &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: name}}, reports: true},
		"applied over a local one": {service: &apiregistrationv1.APIService{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{automanaged: "true"}}, Spec: ours,
		}, reports: true},
		"before a take-over": {service: &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: name}}, awaits: true},
	} {
		options, err := NewOptions()
		require.NoError(t, err, title)
		options.Store.AwaitTakeover = test.awaits
		kube := fake.NewClientset()
		reportDefinitions(t.Context(), options, kube, aggregatorfake.NewSimpleClientset(test.service))
		events, err := kube.CoreV1().Events(options.Certificates.Namespace).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err, title)
		if !test.reports {
			assert.Empty(t, events.Items, title)
			continue
		}
		require.Len(t, events.Items, 1, title)
		assert.Equal(t, corev1.EventTypeWarning, events.Items[0].Type, title)
		assert.Contains(t, events.Items[0].Message, "CustomResourceDefinitions serve v1alpha1.apps.kruise.io, so OpenKruise is installed", title)
		assert.Less(t, len(events.Items[0].Message), 1024, title)
	}
}
