package validation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/podtemplate"
)

// ValidateResourceDistribution checks a new ResourceDistribution.
func ValidateResourceDistribution(distribution *apps.ResourceDistribution) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&distribution.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, validateResourceDistributionSpec(&distribution.Spec, field.NewPath("spec"))...)
}

// ValidateResourceDistributionUpdate checks an update of a ResourceDistribution.
func ValidateResourceDistributionUpdate(distribution, old *apps.ResourceDistribution) field.ErrorList {
	path := field.NewPath("spec")
	errs := replaced(distribution, old, func(one *apps.ResourceDistribution) field.ErrorList {
		return validateResourceDistributionSpec(&one.Spec, path)
	})
	return append(errs, validateSameResource(distribution.Spec.Resource.Raw, old.Spec.Resource.Raw, path.Child("resource"))...)
}

var resourceDistributionMoved = []movedField{{"spec.targets.namespaceSelector", "spec.targets.namespaceLabelSelector"}}

// ResourceDistributionErrorsIn converts the paths of errors in a ResourceDistribution to the version of
// the request.
func ResourceDistributionErrorsIn(version string, errs field.ErrorList) field.ErrorList {
	return inVersion(version, errs, resourceDistributionMoved)
}

// ValidateResourceDistributionStatusUpdate checks an update of a status.
func ValidateResourceDistributionStatusUpdate(distribution, old *apps.ResourceDistribution) field.ErrorList {
	return replaced(distribution, old, func(one *apps.ResourceDistribution) field.ErrorList {
		return validateResourceDistributionStatus(&one.Status)
	})
}

// WarnResourceDistribution names the system namespaces that a write of allNamespaces leaves out. OpenKruise up to 1.9 copied into them.
func WarnResourceDistribution(_ context.Context, distribution, old *apps.ResourceDistribution) []string {
	targets := &distribution.Spec.Targets
	if !targets.AllNamespaces || old != nil && old.Spec.Targets.AllNamespaces {
		return nil
	}
	named := append(slices.Clone(targets.IncludedNamespaces.List), targets.ExcludedNamespaces.List...)
	var left []string
	for _, name := range []string{metav1.NamespaceSystem, metav1.NamespacePublic} {
		if !slices.Contains(named, apps.ResourceDistributionNamespace{Name: name}) {
			left = append(left, name)
		}
	}
	if len(left) == 0 {
		return nil
	}
	path := field.NewPath("spec", "targets")
	return []string{fmt.Sprintf("%s: no copy is made in %s; to have one there, name it in %s", path.Child("allNamespaces"),
		strings.Join(left, " and "), path.Child("includedNamespaces"))}
}

func validateResourceDistributionStatus(status *apps.ResourceDistributionStatus) field.ErrorList {
	path := field.NewPath("status")
	errs := notNegative(status.ObservedGeneration, path.Child("observedGeneration"))
	errs = append(errs, notNegative(int64(status.Desired), path.Child("desired"))...)
	errs = append(errs, notNegative(int64(status.Succeeded), path.Child("succeeded"))...)
	return append(errs, notNegative(int64(status.Failed), path.Child("failed"))...)
}

func validateResourceDistributionSpec(spec *apps.ResourceDistributionSpec, path *field.Path) field.ErrorList {
	if len(spec.Resource.Raw) == 0 {
		return field.ErrorList{field.Required(path.Child("resource"), "empty resource is not allowed; set a Secret or a ConfigMap")}
	}
	errs := validateCopied(spec.Resource.Raw, path.Child("resource"))
	return append(errs, validateTargets(&spec.Targets, path.Child("targets"))...)
}

// copied is what the rules know of a resource.
type copied struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

func validateCopied(raw []byte, path *field.Path) field.ErrorList {
	var head copied
	if err := json.Unmarshal(raw, &head); err != nil {
		return field.ErrorList{undecodable(raw, path, err)}
	}
	var object metav1.Object
	switch head.APIVersion + " " + head.Kind {
	case "v1 Secret":
		object = &corev1.Secret{}
	case "v1 ConfigMap":
		object = &corev1.ConfigMap{}
	default:
		return field.ErrorList{field.Invalid(path, fmt.Sprintf("%s %s", head.APIVersion, head.Kind),
			"unknown or unsupported resource GroupKind; only v1 Secret and v1 ConfigMap can be distributed")}
	}
	if err := json.Unmarshal(raw, object); err != nil {
		return field.ErrorList{undecodable(raw, path, err)}
	}
	// The copies are in namespaces of their own, whatever the template says.
	object.SetNamespace(metav1.NamespaceDefault)
	switch typed := object.(type) {
	case *corev1.Secret:
		return append(validateSecretType(typed.Type, path.Child("type")), podtemplate.ValidateSecret(typed, path)...)
	case *corev1.ConfigMap:
		return podtemplate.ValidateConfigMap(typed, path)
	}
	return nil
}

// validateSecretType refuses types with which Kubernetes issues credentials. A copy would let the owner of the ResourceDistribution act
// as a service account of each namespace, or let nodes join the cluster.
func validateSecretType(kind corev1.SecretType, path *field.Path) field.ErrorList {
	if kind != corev1.SecretTypeServiceAccountToken && kind != corev1.SecretTypeBootstrapToken {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
		"Secrets of type %s are credentials of the cluster and cannot be distributed; use another type", kind))}
}

// undecodable does not show the value: it may be a Secret's.
func undecodable(raw []byte, path *field.Path, err error) *field.Error {
	return field.Invalid(path, fmt.Sprintf("<%d bytes>", len(raw)), "failed to deserialize; use a complete object:  "+err.Error())
}

func validateSameResource(raw, stored []byte, path *field.Path) field.ErrorList {
	var head, old copied
	if json.Unmarshal(raw, &head) != nil || json.Unmarshal(stored, &old) != nil {
		return nil
	}
	if head.TypeMeta != old.TypeMeta || head.Name != old.Name {
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
			"resource apiVersion, kind, and name are immutable; put %s %s %q back, or create another ResourceDistribution",
			old.APIVersion, old.Kind, old.Name))}
	}
	return nil
}

func validateTargets(targets *apps.ResourceDistributionTargets, path *field.Path) field.ErrorList {
	errs := validateNamespaces(targets.ExcludedNamespaces.List, path.Child("excludedNamespaces", "list"))
	errs = append(errs, validateNamespaces(targets.IncludedNamespaces.List, path.Child("includedNamespaces", "list"))...)
	excluded, included := names(targets.ExcludedNamespaces.List), names(targets.IncludedNamespaces.List)
	if both := sets.List(excluded.Intersection(included)); len(both) > 0 {
		errs = append(errs, field.Invalid(path, both,
			fmt.Sprintf("ambiguous targets because namespace %v is in both includedNamespaces and excludedNamespaces; remove it from one of them",
				both)))
	}
	return append(errs, metav1validation.ValidateLabelSelector(
		&targets.NamespaceSelector, metav1validation.LabelSelectorValidationOptions{}, path.Child("namespaceSelector"))...)
}

func validateNamespaces(list []apps.ResourceDistributionNamespace, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, namespace := range list {
		for _, message := range apivalidation.ValidateNamespaceName(namespace.Name, false) {
			errs = append(errs, field.Invalid(path.Index(i).Child("name"), namespace.Name, message))
		}
	}
	return errs
}

func names(list []apps.ResourceDistributionNamespace) sets.Set[string] {
	result := sets.New[string]()
	for _, namespace := range list {
		result.Insert(namespace.Name)
	}
	return result
}
