package install

import (
	"kruise.io/kruise/pkg/apis/annotation"
	"kruise.io/kruise/pkg/apis/policy"
)

// AgreeOnProtection synchronizes settings that a budget has both as a field and as an annotation: if an
// update changes one of the two, the other gets the same value. old is the stored object, nil on create.
// If both change, validation requires equal values.
func AgreeOnProtection(budget, old *policy.PodUnavailableBudget) {
	if old == nil {
		old = &policy.PodUnavailableBudget{}
	}
	for _, setting := range policy.Protections() {
		text, found := budget.Annotations[setting.Annotation]
		oldText, oldFound := old.Annotations[setting.Annotation]
		annotated := text != oldText || found != oldFound
		field := setting.Text(&budget.Spec)
		fieldChanged := field != setting.Text(&old.Spec)
		switch {
		case annotated && !fieldChanged:
			setting.Set(&budget.Spec, text)
		case fieldChanged && !annotated && found && field == "":
			budget.Annotations = annotation.Without(budget.Annotations, setting.Annotation)
		case fieldChanged && !annotated && found:
			budget.Annotations = annotation.With(budget.Annotations, setting.Annotation, field)
		}
	}
}
