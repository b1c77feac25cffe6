package v1alpha1

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
// +protobuf=false
//
// keptStatefulSet contains the fields that a StatefulSet has only in v1beta1, in the form of v1beta1. Those of
// the status are left out: the controller computes them again.
type keptStatefulSet struct {
	Spec keptStatefulSetSpec `json:"spec,omitzero"`
}

// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
// +protobuf=false
//
// keptStatefulSetSpec are the fields of the spec.
type keptStatefulSetSpec struct {
	VolumeClaimUpdateStrategy v1beta1.VolumeClaimUpdateStrategy                        `json:"volumeClaimUpdateStrategy,omitzero"`
	ReserveOrdinals           []intstr.IntOrString                                     `json:"reserveOrdinals,omitempty"`
	Lifecycle                 *pub.Lifecycle                                           `json:"lifecycle,omitempty"`
	ScaleStrategy             *v1beta1.StatefulSetScaleStrategy                        `json:"scaleStrategy,omitempty"`
	RetentionPolicy           *v1beta1.StatefulSetPersistentVolumeClaimRetentionPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty"`
	Ordinals                  *v1beta1.StatefulSetOrdinals                             `json:"ordinals,omitempty"`
}

// keepStatefulSet writes the annotation when there is something to keep.
func keepStatefulSet(in *apps.StatefulSet, out *StatefulSet, s conversion.Scope) error {
	shown := &v1beta1.StatefulSet{}
	if err := v1beta1.Convert_apps_StatefulSet_To_v1beta1_StatefulSet(in, shown, s); err != nil {
		return err
	}
	kept := keptStatefulSet{Spec: keptStatefulSetSpec{
		VolumeClaimUpdateStrategy: shown.Spec.VolumeClaimUpdateStrategy,
		ReserveOrdinals:           shown.Spec.ReserveOrdinals,
		Lifecycle:                 shown.Spec.Lifecycle,
		ScaleStrategy:             shown.Spec.ScaleStrategy,
		RetentionPolicy:           shown.Spec.PersistentVolumeClaimRetentionPolicy,
		Ordinals:                  shown.Spec.Ordinals,
	}}
	if apiequality.Semantic.DeepEqual(kept, keptStatefulSet{}) {
		return nil
	}
	var err error
	out.Annotations, err = withKept(out.Annotations, kept)
	return err
}

// restoreStatefulSet restores what keepStatefulSet wrote and removes the annotation.
func restoreStatefulSet(out *apps.StatefulSet, s conversion.Scope) error {
	var (
		kept  keptStatefulSet
		found bool
	)
	if out.Annotations, found = takeKept(out.Annotations, &kept); !found {
		return nil
	}
	restored, hub := &v1beta1.StatefulSet{}, &apps.StatefulSet{}
	restored.Spec.VolumeClaimUpdateStrategy = kept.Spec.VolumeClaimUpdateStrategy
	restored.Spec.ReserveOrdinals = kept.Spec.ReserveOrdinals
	restored.Spec.Lifecycle = kept.Spec.Lifecycle
	restored.Spec.ScaleStrategy = kept.Spec.ScaleStrategy
	restored.Spec.PersistentVolumeClaimRetentionPolicy = kept.Spec.RetentionPolicy
	restored.Spec.Ordinals = kept.Spec.Ordinals
	if err := v1beta1.Convert_v1beta1_StatefulSet_To_apps_StatefulSet(restored, hub, s); err != nil {
		return err
	}
	apps.KeepStatefulSetFields(&hub.Spec, &out.Spec)
	return nil
}
