package validation

import (
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
)

// ValidatePersistentPodState checks a new PersistentPodState.
func ValidatePersistentPodState(state *apps.PersistentPodState) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&state.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, validatePersistentPodStateSpec(&state.Spec, field.NewPath("spec"))...)
}

// ValidatePersistentPodStateUpdate checks an update of a PersistentPodState.
func ValidatePersistentPodStateUpdate(state, old *apps.PersistentPodState) field.ErrorList {
	path := field.NewPath("spec")
	errs := replaced(state, old, func(one *apps.PersistentPodState) field.ErrorList {
		return validatePersistentPodStateSpec(&one.Spec, path)
	})
	return append(errs, validateSameTarget(&state.Spec.TargetRef, &old.Spec.TargetRef, path.Child("targetRef"))...)
}

var persistentPodStateMoved = []movedField{
	{"spec.requiredPersistentTopology.keys", "spec.requiredPersistentTopology.nodeTopologyKeys"},
	{"spec.preferredPersistentTopology[*].preference.keys", "spec.preferredPersistentTopology[*].preference.nodeTopologyKeys"},
}

// PersistentPodStateErrorsIn converts the paths of errors in a PersistentPodState to the version of the
// request.
func PersistentPodStateErrorsIn(version string, errs field.ErrorList) field.ErrorList {
	return inVersion(version, errs, persistentPodStateMoved)
}

// ValidatePersistentPodStateStatusUpdate checks an update of a status.
func ValidatePersistentPodStateStatusUpdate(state, old *apps.PersistentPodState) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&state.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	return append(errs, notNegative(state.Status.ObservedGeneration, field.NewPath("status", "observedGeneration"))...)
}

func validatePersistentPodStateSpec(spec *apps.PersistentPodStateSpec, path *field.Path) field.ErrorList {
	errs := validateTarget(&spec.TargetRef, path.Child("targetRef"))
	errs = append(errs, validateRememberedAnnotations(spec.PersistentPodAnnotations, path.Child("persistentPodAnnotations"))...)
	errs = append(errs, validateTopology(spec, path)...)
	known := []apps.PersistentPodStateRetentionPolicyType{
		apps.PersistentPodStateRetentionPolicyWhenScaled, apps.PersistentPodStateRetentionPolicyWhenDeleted,
	}
	if policy := spec.PersistentPodStateRetentionPolicy; policy != "" && policy != known[0] && policy != known[1] {
		errs = append(errs, field.NotSupported(path.Child("persistentPodStateRetentionPolicy"), policy, known))
	}
	return errs
}

func validateRememberedAnnotations(annotations []apps.PersistentPodAnnotation, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, annotation := range annotations {
		at := path.Index(i).Child("key")
		switch {
		case annotation.Key == "":
			errs = append(errs, field.Required(at, "set the key of a Pod annotation"))
		case seen.Has(annotation.Key):
			errs = append(errs, field.Duplicate(at, annotation.Key))
		default:
			for _, message := range validation.IsQualifiedName(strings.ToLower(annotation.Key)) {
				errs = append(errs, field.Invalid(at, annotation.Key, message))
			}
		}
		seen.Insert(annotation.Key)
	}
	return errs
}

// validateTopology wants at least one label of nodes: without one nothing could be brought back.
func validateTopology(spec *apps.PersistentPodStateSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	keys := 0
	if required := spec.RequiredPersistentTopology; required != nil {
		keys += len(required.Keys)
		errs = append(errs, validateNodeLabelKeys(required.Keys, path.Child("requiredPersistentTopology", "keys"))...)
	}
	for i := range spec.PreferredPersistentTopology {
		term, at := &spec.PreferredPersistentTopology[i], path.Child("preferredPersistentTopology").Index(i)
		keys += len(term.Preference.Keys)
		if term.Weight < 1 || term.Weight > 100 {
			errs = append(errs, field.Invalid(at.Child("weight"), term.Weight, "must be in the range 1 to 100"))
		}
		errs = append(errs, validateNodeLabelKeys(term.Preference.Keys, at.Child("preference", "keys"))...)
	}
	if keys == 0 {
		errs = append(errs, field.Required(path,
			"requiredPersistentTopology or preferredPersistentTopology must name a node label such as kubernetes.io/hostname"))
	}
	return errs
}

func validateNodeLabelKeys(keys []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, key := range keys {
		if key == "" {
			errs = append(errs, field.Required(path.Index(i), "set the key of a node label"))
			continue
		}
		errs = append(errs, metav1validation.ValidateLabelName(key, path.Index(i))...)
	}
	return errs
}
