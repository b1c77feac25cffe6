package apps

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/podtemplate"
)

// unlessOff returns the given defaulting of templates, or nil if the feature gate TemplateNoDefaults is on.
func unlessOff[T any](gate featuregate.FeatureGate, defaults func(obj, old T)) func(obj, old T) {
	if gate.Enabled(features.TemplateNoDefaults) {
		return nil
	}
	return defaults
}

// filled returns the given defaulting of Pod templates, as the feature gates say.
func filled[T any](gate featuregate.FeatureGate, defaults func(obj, old T, more func(*corev1.PodSpec))) func(obj, old T) {
	var more func(*corev1.PodSpec)
	if gate.Enabled(features.DefaultHostNetworkHostPortsInTemplates) {
		more = podtemplate.DefaultHostPorts
	}
	return unlessOff(gate, func(obj, old T) { defaults(obj, old, more) })
}

// whenOn returns a function if the feature gate is on, and nil otherwise.
func whenOn[F any](gate featuregate.FeatureGate, name featuregate.Feature, function F) F {
	if gate.Enabled(name) {
		return function
	}
	return *new(F)
}

// rules combines several functions that validate an update. Some of them may be nil.
func rules[T any](validations ...func(obj, old T) field.ErrorList) func(obj, old T) field.ErrorList {
	return func(obj, old T) (errs field.ErrorList) {
		for _, validate := range validations {
			if validate != nil {
				errs = append(errs, validate(obj, old)...)
			}
		}
		return errs
	}
}

// each combines several defaulting functions. Some of them may be nil.
func each[T any](defaults ...func(obj, old T)) func(obj, old T) {
	return func(obj, old T) {
		for _, fill := range defaults {
			if fill != nil {
				fill(obj, old)
			}
		}
	}
}

// object is a pointer to an API object.
type object interface {
	comparable
	metav1.Object
}

// templateWarnings returns the same warnings about a Pod template as a Deployment gets.
func templateWarnings[T object](template func(T) *corev1.PodTemplateSpec) func(ctx context.Context, obj, old T) []string {
	return templateWarningsAt(func(obj T) (*field.Path, *corev1.PodTemplateSpec) {
		return field.NewPath("spec", "template"), template(obj)
	})
}

// templateWarningsAt returns the warnings for a template at any path. The template may be nil. A template that moved
// to another path counts as new.
func templateWarningsAt[T object](
	template func(T) (*field.Path, *corev1.PodTemplateSpec),
) func(ctx context.Context, obj, old T) []string {
	return func(ctx context.Context, obj, old T) []string {
		var none T
		if old != none && old.GetGeneration() == obj.GetGeneration() {
			return nil // The spec has not changed, and the template is part of it.
		}
		path, now := template(obj)
		if now == nil {
			return nil
		}
		var stored *corev1.PodTemplateSpec
		if old != none {
			if before, was := template(old); before.String() == path.String() {
				stored = was
			}
		}
		return podtemplate.Warnings(ctx, now, stored, path)
	}
}

// inTurn combines the warnings of several functions.
func inTurn[T any](warners ...func(ctx context.Context, obj, old T) []string) func(ctx context.Context, obj, old T) []string {
	return func(ctx context.Context, obj, old T) (warnings []string) {
		for _, warn := range warners {
			warnings = append(warnings, warn(ctx, obj, old)...)
		}
		return warnings
	}
}
