package validation

import (
	"context"
	"fmt"

	"kruise.io/kruise/pkg/apis/policy"
)

// WarnPodUnavailableBudget warns about annotations that are accepted but have no effect. On create, old is
// nil. On update, it warns only about annotations that the update sets.
func WarnPodUnavailableBudget(_ context.Context, budget, old *policy.PodUnavailableBudget) (warnings []string) {
	for _, setting := range policy.Protections() {
		text, found := budget.Annotations[setting.Annotation]
		if !found || !setting.Known(text) || setting.Normalize(text) != "" || old != nil && old.Annotations[setting.Annotation] == text {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("metadata.annotations[%s]: %s has no effect; use 1 or more", setting.Annotation, text))
	}
	return warnings
}
