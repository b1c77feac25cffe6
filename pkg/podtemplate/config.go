package podtemplate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1conversion "k8s.io/kubernetes/pkg/apis/core/v1"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
)

// ValidateSecret runs core's rules for a Secret that is embedded at path. What it leaves unset is judged as if it had been
// defaulted. The errors do not show values.
func ValidateSecret(secret *corev1.Secret, path *field.Path) field.ErrorList {
	// Core's conversion moves stringData into data, so both are validated.
	defaulted, converted := secret.DeepCopy(), &core.Secret{}
	corev1conversion.SetObjectDefaults_Secret(defaulted)
	if err := corev1conversion.Convert_v1_Secret_To_core_Secret(defaulted, converted, nil); err != nil {
		return field.ErrorList{field.InternalError(path, fmt.Errorf("convert Secret: %w", err))}
	}
	return below(path, corevalidation.ValidateSecret(converted))
}

// ValidateConfigMap runs core's rules for a ConfigMap that is embedded at path.
func ValidateConfigMap(configMap *corev1.ConfigMap, path *field.Path) field.ErrorList {
	converted := &core.ConfigMap{}
	if err := corev1conversion.Convert_v1_ConfigMap_To_core_ConfigMap(configMap.DeepCopy(), converted, nil); err != nil {
		return field.ErrorList{field.InternalError(path, fmt.Errorf("convert ConfigMap: %w", err))}
	}
	return below(path, corevalidation.ValidateConfigMap(converted))
}

// below gives errors of an object the path at which it is embedded, so that the user sees where in the outer object they are.
func below(path *field.Path, errs field.ErrorList) field.ErrorList {
	for _, err := range errs {
		err.Field = path.Child(err.Field).String()
	}
	return errs
}
