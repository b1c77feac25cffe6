package validation

import (
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/pub"
)

func validatePriority(strategy *pub.UpdatePriorityStrategy, path *field.Path) field.ErrorList {
	if strategy == nil {
		return nil
	}
	var errs field.ErrorList
	if len(strategy.WeightPriority) > 0 && len(strategy.OrderPriority) > 0 {
		errs = append(errs, field.Forbidden(path, "orderPriority and weightPriority are mutually exclusive; remove one of them"))
	}
	for i := range strategy.WeightPriority {
		errs = append(errs, validateWeight(&strategy.WeightPriority[i], path.Child("weightPriority").Index(i))...)
	}
	for i := range strategy.OrderPriority {
		if strategy.OrderPriority[i].OrderedKey == "" {
			errs = append(errs, field.Required(path.Child("orderPriority").Index(i).Child("orderedKey"), "set the key of a Pod label"))
		}
	}
	return errs
}

func validateWeight(term *pub.UpdatePriorityWeightTerm, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if term.Weight < 0 || term.Weight > 100 {
		errs = append(errs, field.Invalid(path.Child("weight"), term.Weight, "must be in the range 0 to 100"))
	}
	selector := path.Child("matchSelector")
	if len(term.MatchSelector.MatchLabels)+len(term.MatchSelector.MatchExpressions) == 0 {
		return append(errs, field.Required(selector, "an empty selector matches every Pod; set matchLabels or matchExpressions"))
	}
	return append(errs, metav1validation.ValidateLabelSelector(
		&term.MatchSelector, metav1validation.LabelSelectorValidationOptions{}, selector)...)
}

func validateScatter(terms []pub.UpdateScatterTerm, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[pub.UpdateScatterTerm]()
	for i, term := range terms {
		switch {
		case term.Key == "":
			errs = append(errs, field.Required(path.Index(i).Child("key"), "set the key of a Pod label"))
		case seen.Has(term):
			errs = append(errs, field.Duplicate(path.Index(i), term.Key+"="+term.Value))
		}
		seen.Insert(term)
	}
	return errs
}
