package apps

import (
	"maps"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

// recordInjection writes since when all new Pods that the SidecarSet selects get its containers. Pods that are younger and lack
// them were created while admission was not available. An annotation of the user is replaced.
func recordInjection(set, old *apps.SidecarSet, now time.Time) {
	since := now.UTC().Format(time.RFC3339)
	if old != nil && old.Annotations[pub.SidecarSetInjectsSinceKey] != "" && sameInjection(&set.Spec, &old.Spec) {
		since = old.Annotations[pub.SidecarSetInjectsSinceKey]
	}
	annotations := maps.Clone(set.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[pub.SidecarSetInjectsSinceKey] = since
	set.Annotations = annotations
}

// sameInjection reports whether new Pods get the containers as before. Injection that resumes after a pause begins anew: Pods that were
// created during the pause lack the containers as the user wanted it.
func sameInjection(spec, old *apps.SidecarSetSpec) bool {
	return spec.Namespace == old.Namespace && apiequality.Semantic.DeepEqual(spec.NamespaceSelector, old.NamespaceSelector) &&
		apiequality.Semantic.DeepEqual(spec.Selector, old.Selector) && (spec.InjectionStrategy.Paused || !old.InjectionStrategy.Paused)
}
