package install_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/apis/policy"
	"kruise.io/kruise/pkg/apis/policy/install"
	"kruise.io/kruise/pkg/apis/policy/v1alpha1"
	"kruise.io/kruise/pkg/apis/policy/v1beta1"
)

func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, install.Install(scheme))
	return scheme
}

func TestInstall(t *testing.T) {
	require.Equal(t, []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion},
		newScheme(t).PrioritizedVersionsForGroup(policy.GroupName), "v1beta1 is preferred")
}
