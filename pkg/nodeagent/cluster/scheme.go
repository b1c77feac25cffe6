package cluster

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// Scheme knows the kinds of this package. It is read-only. Event recorders use it to find the kind of an object.
var Scheme = newScheme()

// No kind is converted, so each type is its own version.
var (
	codecs     = serializer.NewCodecFactory(Scheme)
	parameters = runtime.NewParameterCodec(Scheme)
)

// newScheme returns a scheme with the types that requests send or receive, and nothing else. A new kind in Interface
// needs its types here.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(corev1.SchemeGroupVersion,
		&corev1.Pod{}, &corev1.PodList{}, &corev1.Event{}, &corev1.EventList{}, &corev1.Secret{}, &corev1.SecretList{})
	scheme.AddKnownTypes(v1beta1.SchemeGroupVersion, &v1beta1.NodeImage{}, &v1beta1.NodeImageList{},
		&v1beta1.ContainerRecreateRequest{}, &v1beta1.ContainerRecreateRequestList{})
	scheme.AddKnownTypes(v1alpha1.SchemeGroupVersion, &v1alpha1.NodePodProbe{}, &v1alpha1.NodePodProbeList{})
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	metav1.AddToGroupVersion(scheme, v1alpha1.SchemeGroupVersion)
	metav1.AddToGroupVersion(scheme, v1beta1.SchemeGroupVersion)
	return scheme
}
