package validation

import (
	"fmt"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// shownStatefulSet is an embedded spec in v1beta1, with the defaults of a StatefulSet.
func shownStatefulSet(spec *apps.StatefulSetSpec) (*v1beta1.StatefulSetSpec, error) {
	shown := &v1beta1.StatefulSetSpec{}
	if err := v1beta1.Convert_apps_StatefulSetSpec_To_v1beta1_StatefulSetSpec(spec.DeepCopy(), shown, nil); err != nil {
		return nil, fmt.Errorf("convert statefulset: %w", err)
	}
	v1beta1.SetDefaults_StatefulSetSpec(shown)
	return shown, nil
}

// defaultedStatefulSet fills the defaults of an embedded spec like those of a StatefulSet, so that rules
// can rely on them.
func defaultedStatefulSet(spec *apps.StatefulSetSpec) (*apps.StatefulSetSpec, error) {
	shown, err := shownStatefulSet(spec)
	if err != nil {
		return nil, err
	}
	result := &apps.StatefulSetSpec{}
	if err := v1beta1.Convert_v1beta1_StatefulSetSpec_To_apps_StatefulSetSpec(shown, result, nil); err != nil {
		return nil, fmt.Errorf("convert statefulset: %w", err)
	}
	return result, nil
}

// defaultedCloneSet is the same for a CloneSet.
func defaultedCloneSet(spec *apps.CloneSetSpec) (*apps.CloneSetSpec, error) {
	shown, result := &v1beta1.CloneSetSpec{}, &apps.CloneSetSpec{}
	if err := v1beta1.Convert_apps_CloneSetSpec_To_v1beta1_CloneSetSpec(spec.DeepCopy(), shown, nil); err != nil {
		return nil, fmt.Errorf("convert cloneset: %w", err)
	}
	v1beta1.SetDefaults_CloneSetSpec(shown)
	if err := v1beta1.Convert_v1beta1_CloneSetSpec_To_apps_CloneSetSpec(shown, result, nil); err != nil {
		return nil, fmt.Errorf("convert cloneset: %w", err)
	}
	return result, nil
}
