package controller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	kruisefake "kruise.io/kruise/pkg/generated/clientset/versioned/fake"
)

// startedCaches starts the informers that ask returns, in the caches of a namespace, and waits until they have read the objects.
func startedCaches(t *testing.T, client *fake.Clientset, namespace string, ask func(KubeInformers) cache.SharedIndexInformer) cache.Store {
	t.Helper()
	caches := NewCaches(client, kruisefake.NewClientset(), namespace, 0)
	deps := caches.For(Deps{})
	informer := ask(deps.KubeInformers)
	caches.Start(t.Context(), deps.Needs())
	require.True(t, cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced))
	return informer.GetStore()
}

// A controller that asks for objects with a label does not read and hold all others.
func TestSelectedInformersReadObjectsWithTheLabel(t *testing.T) {
	client := fake.NewClientset(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "copy", Labels: map[string]string{"copied": "yes"}}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "other"}},
	)
	store := startedCaches(t, client, "", func(informers KubeInformers) cache.SharedIndexInformer {
		return informers.Selected("copied", Trim).Core().V1().Secrets().Informer()
	})
	assert.Equal(t, []string{"a/copy"}, store.ListKeys())
}

// Controllers that are restricted to a namespace do not see the budgets of other namespaces, and would remove their labels.
func TestRestrictedControllersReadTheirNamespace(t *testing.T) {
	for restricted, want := range map[string]string{"": "", "a": "metadata.name=a"} {
		t.Run("restricted to "+restricted, func(t *testing.T) {
			client := fake.NewClientset()
			startedCaches(t, client, restricted, func(informers KubeInformers) cache.SharedIndexInformer {
				return informers.Core().V1().Namespaces().Informer()
			})
			lists := 0
			for _, action := range client.Actions() {
				if list, is := action.(clienttesting.ListAction); is {
					lists++
					assert.Equal(t, want, list.GetListRestrictions().Fields.String())
				}
			}
			assert.Positive(t, lists)
		})
	}
}
