package apiserver

import (
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/admission/review"
)

// NewScheme returns a scheme with all types that the server reads or writes. Each call returns a new one, because a
// scheme has no lock and tests add types.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, group := range groups {
		if err := group.install(scheme); err != nil {
			return nil, fmt.Errorf("install group %s: %w", group.name, err)
		}
	}
	if err := review.Install(scheme); err != nil {
		return nil, fmt.Errorf("install group %s: %w", review.GroupName, err)
	}
	addUnversioned(scheme)
	// The answer of nodeimages/pullsecrets.
	scheme.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Secret{}, &corev1.SecretList{})
	if err := addScale(scheme); err != nil {
		return nil, fmt.Errorf("install Scale: %w", err)
	}
	return scheme, nil
}

// addUnversioned adds the types of discovery and errors. They have no group of their own, and every version of every
// group uses them.
func addUnversioned(scheme *runtime.Scheme) {
	v1 := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, v1)
	scheme.AddUnversionedTypes(v1,
		&metav1.Status{},
		&metav1.APIVersions{},
		&metav1.APIGroupList{},
		&metav1.APIGroup{},
		&metav1.APIResourceList{},
	)
}

// addScale adds autoscaling/v1 for /scale. The API installer needs an internal version of each type that a
// subresource accepts. The real internal type is in k8s.io/kubernetes, so the v1 type is its own internal version.
func addScale(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(schema.GroupVersion{Group: autoscalingv1.GroupName, Version: runtime.APIVersionInternal}, &autoscalingv1.Scale{})
	return autoscalingv1.AddToScheme(scheme)
}
