package workloadclient

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/restmapper"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestKindsThatAreDefinedLaterAreFound(t *testing.T) {
	kube, clock := kubefake.NewClientset(), clocktesting.NewFakeClock(time.Unix(1e9, 0))
	serve := func(versions ...string) {
		kube.Resources = nil
		for _, version := range versions {
			kube.Resources = append(kube.Resources, &metav1.APIResourceList{
				GroupVersion: "example.com/" + version, APIResources: []metav1.APIResource{{Name: "games", Kind: "Game", Namespaced: true}},
			})
		}
	}
	mapper := NewFreshMapper(restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kube.Discovery())), clock)
	find := func() (*meta.RESTMapping, error) {
		return mapper.RESTMapping(schema.GroupKind{Group: "example.com", Kind: "Game"})
	}

	serve("v0")
	kube.Resources[0].APIResources[0].Kind = "Match"
	_, err := find()
	require.True(t, meta.IsNoMatchError(err), "%v", err)
	serve("v1")
	clock.Step(absenceKept - time.Second)
	_, err = find()
	require.True(t, meta.IsNoMatchError(err), "a kind that is not served does not cause a request each time: %v", err)
	clock.Step(time.Second)
	found, err := find()
	require.NoError(t, err)
	assert.Equal(t, "v1", found.Resource.Version)

	serve("v2")
	clock.Step(mappingKept - time.Second)
	found, err = find()
	require.NoError(t, err)
	assert.Equal(t, "v1", found.Resource.Version)
	clock.Step(time.Second)
	found, err = find()
	require.NoError(t, err)
	assert.Equal(t, "v2", found.Resource.Version, "the old version may not be served any more")
}
