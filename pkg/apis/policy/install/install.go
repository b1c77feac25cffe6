package install

import (
	"k8s.io/apimachinery/pkg/runtime"

	"kruise.io/kruise/pkg/apis/policy"
	"kruise.io/kruise/pkg/apis/policy/v1alpha1"
	"kruise.io/kruise/pkg/apis/policy/v1beta1"
)

// Install adds the group to a scheme. v1beta1 comes first: it is the version that clients
// without an opinion get, and that a kind is stored in where it has it.
func Install(scheme *runtime.Scheme) error {
	builder := runtime.NewSchemeBuilder(
		policy.AddToScheme,
		v1beta1.AddToScheme, v1beta1.RegisterDefaults,
		v1alpha1.AddToScheme, v1alpha1.RegisterDefaults,
		func(scheme *runtime.Scheme) error {
			return scheme.SetVersionPriority(v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion)
		},
	)
	return builder.AddToScheme(scheme)
}
