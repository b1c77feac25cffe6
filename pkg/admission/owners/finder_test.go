package owners

import (
	"testing"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	kruisefake "kruise.io/kruise/pkg/generated/clientset/versioned/fake"
)

// TestClosedStoreDoesNotReportMissingOwners checks that a closed store does not return NotFound. Callers allow the
// request after NotFound.
func TestClosedStoreDoesNotReportMissingOwners(t *testing.T) {
	kruise := kruisefake.NewClientset()
	finder := &Finder{
		Host: fake.NewClientset(), Kruise: kruise, Metadata: metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme()),
		Mapper: meta.NewDefaultRESTMapper(nil),
	}
	owner := &metav1.OwnerReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "c", UID: "u"}
	_, err := finder.Get(t.Context(), "ns", owner)
	assert.True(t, apierrors.IsNotFound(err), "an open store says so: %v", err)

	kruise.PrependReactor("get", "clonesets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewServiceUnavailable("the store is closed: it was wiped")
	})
	object, err := finder.Get(t.Context(), "ns", owner)
	assert.Nil(t, object)
	assert.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
}
