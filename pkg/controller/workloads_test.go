package controller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/fake"

	kruisefake "kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/workload/kinds"
)

// TestEveryWatchedKindHasAnInformer compares the table of informers with the kinds that are marked as watched.
func TestEveryWatchedKindHasAnInformer(t *testing.T) {
	caches := NewCaches(fake.NewClientset(), kruisefake.NewClientset(), "", 0)
	for _, kind := range kinds.All() {
		t.Run(kind.String(), func(t *testing.T) {
			informer := workloadInformers[kind.GroupKind]
			require.Equal(t, kind.Watched, informer != nil)
			if !kind.Watched {
				return
			}
			deps := caches.For(Deps{})
			informer(deps).Informer()
			require.Len(t, deps.Needs(), 1)
			assert.Equal(t, kind.Resource.GroupVersion().WithKind(kind.Kind), deps.Needs()[0].Kind)
		})
	}
	for kind := range workloadInformers {
		assert.NotNil(t, kinds.Of(kind), kind)
	}
}
