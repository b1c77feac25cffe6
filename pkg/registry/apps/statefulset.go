package apps

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

// statefulSet keeps, on writes in v1alpha1, the fields that only v1beta1 has. Defaults for claims follow the feature gates, so a cluster
// without them stores what the user wrote.
func statefulSet(gate featuregate.FeatureGate) rest.AnyKind {
	type set = apps.StatefulSet
	return &rest.Kind[*set]{
		Plural: "statefulsets", Singular: "statefulset", Short: []string{"sts", "asts"}, Controlled: true,
		Stored: v1beta1.SchemeGroupVersion, Served: []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion},
		New: func() *set { return &set{} }, NewList: func() runtime.Object { return &apps.StatefulSetList{} },
		Spec: func(s *set) any { return &s.Spec }, Status: func(s *set) any { return &s.Status },
		Keep: install.KeepStatefulSet,
		Default: each(filled(gate, install.DefaultStatefulSetTemplate),
			whenOn(gate, features.StatefulSetAutoDeletePVC, install.DefaultClaimRetention),
			whenOn(gate, features.StatefulSetAutoResizePVCGate, install.DefaultClaimUpdate)),
		Validate: validation.ValidateStatefulSet,
		ValidateUpdate: rules(validation.ValidateStatefulSetUpdate,
			whenOn(gate, features.StatefulSetAutoResizePVCGate, validation.ValidateClaimGrowth)),
		ValidateStatus: validation.ValidateStatefulSetStatusUpdate,
		Warnings:       inTurn(validation.WarnStatefulSet, templateWarnings(func(s *set) *corev1.PodTemplateSpec { return &s.Spec.Template })),
		Columns: []rest.Column[*set]{
			number("DESIRED", "Number of desired Pods.", func(s *set) int32 { return ptr.Deref(s.Spec.Replicas, 1) }),
			number("CURRENT", "Number of existing Pods.", func(s *set) int32 { return s.Status.Replicas }),
			number("UPDATED", "Number of Pods at the update revision.", func(s *set) int32 { return s.Status.UpdatedReplicas }),
			number("READY", "Number of ready Pods.", func(s *set) int32 { return s.Status.ReadyReplicas }),
			rest.Age[*set](),
			wide("CONTAINERS", "Names of the containers.", func(s *set) string { return containerNames(&s.Spec.Template.Spec) }),
			wide("IMAGES", "Images of the containers.", func(s *set) string { return images(&s.Spec.Template.Spec) }),
		},
		Scale: &rest.Scale[*set]{
			Replicas: func(s *set) int32 { return ptr.Deref(s.Spec.Replicas, 1) }, SetReplicas: func(s *set, n int32) { s.Spec.Replicas = &n },
			Current:  func(s *set) int32 { return s.Status.Replicas },
			Selector: func(s *set) *metav1.LabelSelector { return s.Spec.Selector },
		},
	}
}
