package workloadclient

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	kruisefake "kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/workload/kinds"
)

func TestEveryKindIsRead(t *testing.T) {
	assert.Len(t, readers, len(kinds.All()))
	for _, kind := range kinds.All() {
		t.Run(kind.String(), func(t *testing.T) {
			kube, kruise := kubefake.NewClientset(), kruisefake.NewClientset()
			clients := Clients{Kube: kube, Kruise: kruise}
			_, err := clients.Get(t.Context(), kind.GroupKind, "ns", "a")
			require.True(t, apierrors.IsNotFound(err), "%v", err)
			actions := append(kube.Actions(), kruise.Actions()...)
			require.Len(t, actions, 1)
			assert.Equal(t, kind.Resource, actions[0].GetResource())
			assert.Equal(t, "a", actions[0].(clienttesting.GetAction).GetName())

			object := kind.New()
			object.SetNamespace("ns")
			object.SetName("a")
			if kind.Resource.Group == "apps.kruise.io" {
				require.NoError(t, kruise.Tracker().Add(object))
			} else {
				require.NoError(t, kube.Tracker().Add(object))
			}
			found, err := clients.Get(t.Context(), kind.GroupKind, "ns", "a")
			require.NoError(t, err)
			assert.Equal(t, "a", found.GetName())
			assert.Same(t, kind, kinds.OfObject(found))
		})
	}
	_, err := Clients{}.Get(t.Context(), schema.GroupKind{Kind: "Pod"}, "ns", "a")
	assert.ErrorContains(t, err, "Pod is not in the table of workload kinds")
}
