package apps

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

// containerRecreateRequest is watched by the agent of each node, for the requests of this node. WatchLabel keeps the cost of an event
// independent of the number of nodes.
func containerRecreateRequest(gate featuregate.FeatureGate) rest.AnyKind {
	type request = apps.ContainerRecreateRequest
	return &rest.Kind[*request]{
		Plural: "containerrecreaterequests", Singular: "containerrecreaterequest", Short: []string{"crr"}, Controlled: true,
		Stored: v1beta1.SchemeGroupVersion, Served: []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion},
		New: func() *request { return &request{} }, NewList: func() runtime.Object { return &apps.ContainerRecreateRequestList{} },
		Spec: func(r *request) any { return &r.Spec }, Status: func(r *request) any { return &r.Status },
		Closed: firstOff(gate, features.KruiseDaemon), StatusInMetadata: annotatedStatus,
		WatchLabel:     pub.ContainerRecreateRequestNodeNameKey,
		Validate:       validation.ValidateContainerRecreateRequest,
		ValidateUpdate: validation.ValidateContainerRecreateRequestUpdate,
		ValidateStatus: validation.ValidateContainerRecreateRequestStatusUpdate,
		Columns: []rest.Column[*request]{
			text("PHASE", "Phase of the request.", func(r *request) string { return string(r.Status.Phase) }),
			text("POD", "Pod whose containers are restarted.", func(r *request) string { return r.Spec.PodName }),
			text("NODE", "Node of the Pod.", func(r *request) string { return r.Labels[pub.ContainerRecreateRequestNodeNameKey] }),
			rest.Age[*request](),
		},
	}
}

// annotatedStatus copies the part of the status that v1alpha1 stores in annotations.
func annotatedStatus(version string, to, from *apps.ContainerRecreateRequest) {
	if version == v1alpha1.SchemeGroupVersion.Version {
		to.Status.ContainerStatusSnapshot, to.Status.Conditions = from.Status.ContainerStatusSnapshot, from.Status.Conditions
	}
}
