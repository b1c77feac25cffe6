package apps

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/registry/rest"
)

func persistentPodState() rest.AnyKind {
	type state = apps.PersistentPodState
	return &rest.Kind[*state]{
		Plural: "persistentpodstates", Singular: "persistentpodstate", Controlled: true,
		Stored: v1beta1.SchemeGroupVersion, Served: []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion},
		New: func() *state { return &state{} }, NewList: func() runtime.Object { return &apps.PersistentPodStateList{} },
		Spec: func(p *state) any { return &p.Spec }, Status: func(p *state) any { return &p.Status },
		Validate: validation.ValidatePersistentPodState, ValidateUpdate: validation.ValidatePersistentPodStateUpdate,
		ValidateStatus: validation.ValidatePersistentPodStateStatusUpdate, ErrorsIn: validation.PersistentPodStateErrorsIn,
		Columns: []rest.Column[*state]{titled("Age", rest.Age[*state]())},
	}
}
