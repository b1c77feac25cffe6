package openkruise

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
)

// TestChartsDifferAsTheirVersionsDo renders each version.
func TestChartsDifferAsTheirVersionsDo(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	for _, generation := range Generations() {
		all, err := generation.Objects("elsewhere", "image")
		require.NoError(t, err)
		counts[generation.Version] = len(all)
		for _, object := range all {
			assert.NotEmpty(t, object.GetName())
			assert.Equal(t, Release, object.GetAnnotations()["meta.helm.sh/release-name"])
		}
	}
	assert.Equal(t, map[string]int{"1.3": 15, "1.4.1": 17, "1.8": 27, "1.9": 27}, counts)
}

// TestRevisionsAreKnownByTheirBytes reads revisions as OpenKruise writes them, and as an encoder without the null does.
func TestRevisionsAreKnownByTheirBytes(t *testing.T) {
	t.Parallel()
	revision := func(name, api, data string) *appsv1.ControllerRevision {
		return &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", OwnerReferences: []metav1.OwnerReference{{APIVersion: api, Kind: "CloneSet"}}},
			Data:       runtime.RawExtension{Raw: []byte(data)},
		}
	}
	const null, none = `{"spec":{"template":{"metadata":{"creationTimestamp":null}}}}`, `{"spec":{"template":{"metadata":{}}}}`
	const nested = `{"spec":{"template":{"cloneSetTemplate":{"metadata":{"creationTimestamp":null},"spec":{"template":{"metadata":{}}}}}}}`
	unknown, err := UnknownRevisions(t.Context(), fake.NewClientset(
		revision("a", "apps.kruise.io/v1alpha1", null), revision("b", "apps.kruise.io/v1alpha1", none),
		revision("c", "apps.kruise.io/v1alpha1", nested), revision("d", "apps/v1", none),
	), "ns")
	require.NoError(t, err)
	assert.Equal(t, []string{"CloneSet b", "CloneSet c"}, unknown)
}
