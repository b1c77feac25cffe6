package apps

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/podtemplate"
)

// unlessOff returns the defaulting of templates, or nothing where the gate TemplateNoDefaults is on.
func unlessOff[T any](gate featuregate.FeatureGate, defaults func(obj, old T)) func(obj, old T) {
	if gate.Enabled(features.TemplateNoDefaults) {
		return nil
	}
	return defaults
}

// then runs two defaultings, the second where there is one.
func then[T any](first, second func(obj, old T)) func(obj, old T) {
	if second == nil {
		return first
	}
	return func(obj, old T) {
		first(obj, old)
		second(obj, old)
	}
}

// templateWarnings tells users of a template what a Deployment's users are told.
func templateWarnings[T comparable](template func(T) *corev1.PodTemplateSpec) func(ctx context.Context, obj, old T) []string {
	return func(ctx context.Context, obj, old T) []string {
		var none T
		var stored *corev1.PodTemplateSpec
		if old != none {
			stored = template(old)
		}
		return podtemplate.Warnings(ctx, template(obj), stored, field.NewPath("spec", "template"))
	}
}
