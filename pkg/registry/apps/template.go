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

// whenOn returns a default that applies only where a gate is on.
func whenOn[T any](gate featuregate.FeatureGate, name featuregate.Feature, defaults func(obj, old T)) func(obj, old T) {
	if gate.Enabled(name) {
		return defaults
	}
	return nil
}

// each joins defaults, of which some may be nil.
func each[T any](defaults ...func(obj, old T)) func(obj, old T) {
	return func(obj, old T) {
		for _, fill := range defaults {
			if fill != nil {
				fill(obj, old)
			}
		}
	}
}

// templateWarnings tells users of a template what a Deployment's users are told.
func templateWarnings[T comparable](template func(T) *corev1.PodTemplateSpec) func(ctx context.Context, obj, old T) []string {
	return templateWarningsAt(func(obj T) (*field.Path, *corev1.PodTemplateSpec) {
		return field.NewPath("spec", "template"), template(obj)
	})
}

// templateWarningsAt does so for a template, or none, that is in another place. One that was in another place before is new.
func templateWarningsAt[T comparable](
	template func(T) (*field.Path, *corev1.PodTemplateSpec),
) func(ctx context.Context, obj, old T) []string {
	return func(ctx context.Context, obj, old T) []string {
		path, now := template(obj)
		if now == nil {
			return nil
		}
		var none T
		var stored *corev1.PodTemplateSpec
		if old != none {
			if before, was := template(old); before.String() == path.String() {
				stored = was
			}
		}
		return podtemplate.Warnings(ctx, now, stored, path)
	}
}

// inTurn joins what several functions warn of.
func inTurn[T any](warners ...func(ctx context.Context, obj, old T) []string) func(ctx context.Context, obj, old T) []string {
	return func(ctx context.Context, obj, old T) (warnings []string) {
		for _, warn := range warners {
			warnings = append(warnings, warn(ctx, obj, old)...)
		}
		return warnings
	}
}
