package resourcedistribution

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps"
)

const (
	configMap = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"shared","namespace":"elsewhere"},"data":{"a":"b"}}`
	secret    = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"shared"},"stringData":{"a":"b"}}`
)

func distribution(resource string) *apps.ResourceDistribution {
	return &apps.ResourceDistribution{Spec: apps.ResourceDistributionSpec{Resource: runtime.RawExtension{Raw: []byte(resource)}}}
}

func attributes(obj, old *apps.ResourceDistribution, subresource string) admission.Attributes {
	operation, stored := admission.Create, runtime.Object(nil)
	if old != nil {
		operation, stored = admission.Update, old
	}
	return admission.NewAttributesRecord(obj, stored, apps.Kind("ResourceDistribution").WithVersion("v1alpha1"), "", "demo",
		apps.Resource("resourcedistributions").WithVersion("v1alpha1"), subresource, operation, nil, false, nil)
}

func TestHostClusterIsAsked(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	tests := map[string]struct {
		obj, old    *apps.ResourceDistribution
		subresource string
		answer      error
		asked       string
		refused     func(error) bool
	}{
		"ConfigMap":    {obj: distribution(configMap), asked: "configmaps"},
		"Secret":       {obj: distribution(secret), asked: "secrets"},
		"changed":      {obj: distribution(secret), old: distribution(`{"kind":"Secret"}`), asked: "secrets"},
		"not changed":  {obj: distribution(secret), old: distribution(secret)},
		"/status":      {obj: distribution(secret), old: distribution(configMap), subresource: "status"},
		"there is one": {obj: distribution(secret), answer: apierrors.NewAlreadyExists(secrets, "a"), asked: "secrets"},
		"no namespace": {obj: distribution(secret), answer: apierrors.NewNotFound(secrets, "a"), asked: "secrets"},
		"invalid": {
			obj: distribution(secret), answer: apierrors.NewInvalid(schema.GroupKind{}, "a", nil), asked: "secrets", refused: apierrors.IsInvalid,
		},
		"bad request": {obj: distribution(secret), answer: apierrors.NewBadRequest("no"), asked: "secrets", refused: apierrors.IsInvalid},
		"policy": {
			obj: distribution(secret), answer: apierrors.NewForbidden(secrets, "a", errors.New("policy")), asked: "secrets",
			refused: apierrors.IsForbidden,
		},
		"no answer": {
			obj: distribution(secret), answer: errors.New("no route to host"), asked: "secrets", refused: apierrors.IsInternalError,
		},
		"what is no object":    {obj: distribution(`[`), refused: apierrors.IsInvalid},
		"what is no Secret":    {obj: distribution(`{"kind":"Secret","data":5}`), refused: apierrors.IsInvalid},
		"what is no ConfigMap": {obj: distribution(`{"kind":"ConfigMap","data":5}`), refused: apierrors.IsInvalid},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			client, asked := fake.NewClientset(), ""
			client.PrependReactor("create", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
				create, ok := action.(clienttesting.CreateActionImpl)
				require.True(t, ok)
				asked = create.Resource.Resource
				assert.Equal(t, "kruise-system", create.Namespace)
				assert.Equal(t, []string{"All"}, create.CreateOptions.DryRun)
				return true, create.Object, test.answer
			})
			plugin := New()
			require.Error(t, plugin.ValidateInitialization())
			plugin.SetExternalKubeClientSet(client)
			plugin.SetOwnNamespace("kruise-system")
			require.NoError(t, plugin.ValidateInitialization())
			err := plugin.Validate(t.Context(), attributes(test.obj, test.old, test.subresource), nil)
			assert.Equal(t, test.asked, asked)
			if test.refused == nil {
				require.NoError(t, err)
				return
			}
			assert.True(t, test.refused(err), "%v", err)
		})
	}
}

func TestOtherKindsAreIgnored(t *testing.T) {
	assert.NoError(t, New().Validate(t.Context(), admission.NewAttributesRecord(
		&apps.SidecarSet{}, nil, apps.Kind("SidecarSet").WithVersion("v1beta1"), "", "demo",
		apps.Resource("sidecarsets").WithVersion("v1beta1"), "", admission.Create, nil, false, nil), nil))
}
