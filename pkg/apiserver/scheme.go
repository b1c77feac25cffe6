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

// NewScheme returns a scheme with every type that the server reads or writes.
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
	// What nodeimages/pullsecrets answers with.
	scheme.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Secret{}, &corev1.SecretList{})
	if err := addScale(scheme); err != nil {
		return nil, fmt.Errorf("install Scale: %w", err)
	}
	return scheme, nil
}

// addUnversioned adds what discovery and errors are made of.
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

// addScale adds autoscaling/v1 for /scale. The type serves as its own hub: the installer wants an
// internal version of whatever a subresource takes, and the real one is in k8s.io/kubernetes.
func addScale(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(schema.GroupVersion{Group: autoscalingv1.GroupName, Version: runtime.APIVersionInternal}, &autoscalingv1.Scale{})
	return autoscalingv1.AddToScheme(scheme)
}
