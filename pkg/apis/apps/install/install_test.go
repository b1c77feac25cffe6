package install_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, install.Install(scheme))
	return scheme
}

func TestInstall(t *testing.T) {
	scheme := newScheme(t)
	require.Equal(t, []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion},
		scheme.PrioritizedVersionsForGroup(apps.GroupName), "v1beta1 is preferred")

	beta, alpha := &v1beta1.CloneSet{}, &v1alpha1.CloneSet{}
	scheme.Default(beta)
	scheme.Default(alpha)
	require.Equal(t, int32(1), *beta.Spec.Replicas)
	require.Equal(t, int32(1), *alpha.Spec.Replicas)
}
