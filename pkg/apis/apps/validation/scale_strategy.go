package validation

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
)

func validateScaleStrategy(strategy *apps.CloneSetScaleStrategy, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, name := range strategy.PodsToDelete {
		at := path.Child("podsToDelete").Index(i)
		switch {
		case name == "":
			errs = append(errs, field.Required(at, "name a Pod of this CloneSet"))
		case seen.Has(name):
			errs = append(errs, field.Duplicate(at, name))
		}
		seen.Insert(name)
	}
	return append(errs, validateAmount(strategy.MaxUnavailable, path.Child("maxUnavailable"))...)
}
