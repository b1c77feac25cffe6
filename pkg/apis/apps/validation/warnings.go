package validation

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
)

// WarnCloneSet names the fields that are stored and have no effect yet, so that nobody relies on them. On create, old is
// nil; on update only what the update sets is named.
func WarnCloneSet(_ context.Context, obj, old *apps.CloneSet) []string {
	before := map[string]bool{}
	if old != nil {
		for _, path := range withoutEffect(&old.Spec) {
			before[path] = true
		}
	}
	var warnings []string
	for _, path := range withoutEffect(&obj.Spec) {
		if !before[path] {
			warnings = append(warnings, path+": stored, but this release does not act on it")
		}
	}
	return warnings
}

func withoutEffect(spec *apps.CloneSetSpec) (paths []string) {
	root := field.NewPath("spec")
	note := func(set bool, path *field.Path) {
		if set {
			paths = append(paths, path.String())
		}
	}
	const off = 2147483647
	note(spec.ProgressDeadlineSeconds != nil && *spec.ProgressDeadlineSeconds != off, root.Child("progressDeadlineSeconds"))
	return paths
}
