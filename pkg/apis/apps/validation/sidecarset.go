package validation

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/podtemplate"
)

// ValidateSidecarSet checks a new SidecarSet.
func ValidateSidecarSet(set *apps.SidecarSet) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&set.ObjectMeta, false, apivalidation.NameIsDNSLabel, field.NewPath("metadata"))
	errs = append(errs, validateSidecarSetSpec(&set.Spec, nil, field.NewPath("spec"))...)
	return append(errs, validateCanary(set)...)
}

// ValidateSidecarSetUpdate checks an update of a SidecarSet.
func ValidateSidecarSetUpdate(set, old *apps.SidecarSet) field.ErrorList {
	spec := field.NewPath("spec")
	errs := replaced(set, old, func(one *apps.SidecarSet) field.ErrorList {
		return append(validateSidecarSetSpec(&one.Spec, &old.Spec, spec), validateCanary(one)...)
	})
	errs = append(errs, validateSidecarsChange(set.Spec.Containers, old.Spec.Containers, spec.Child("containers"))...)
	if base := old.Annotations[pub.SidecarSetBaseKey]; base != "" && set.Annotations[pub.SidecarSetBaseKey] != base {
		errs = append(errs, field.Forbidden(annotation(pub.SidecarSetBaseKey),
			"the base of a canary cannot be changed; put the stored one back, or create another SidecarSet"))
	}
	return errs
}

// ValidateSidecarSetStatusUpdate checks an update of a status.
func ValidateSidecarSetStatusUpdate(set, old *apps.SidecarSet) field.ErrorList {
	path := field.NewPath("status")
	errs := replaced(set, old, func(one *apps.SidecarSet) field.ErrorList {
		return validateSidecarSetStatus(&one.Status, path)
	})
	return append(errs, validateCollisionCount(set.Status.CollisionCount, old.Status.CollisionCount, path.Child("collisionCount"))...)
}

func validateSidecarSetStatus(status *apps.SidecarSetStatus, path *field.Path) field.ErrorList {
	errs := notNegative(status.ObservedGeneration, path.Child("observedGeneration"))
	errs = append(errs, notNegative(int64(status.MatchedPods), path.Child("matchedPods"))...)
	errs = append(errs, notNegative(int64(status.UpdatedPods), path.Child("updatedPods"))...)
	errs = append(errs, notNegative(int64(status.ReadyPods), path.Child("readyPods"))...)
	errs = append(errs, notNegative(int64(status.UninjectedPods), path.Child("uninjectedPods"))...)
	return append(errs, notNegative(int64(status.UpdatedReadyPods), path.Child("updatedReadyPods"))...)
}

// SidecarSetErrorsIn converts the paths of errors in a SidecarSet to the version of the request.
func SidecarSetErrorsIn(version string, errs field.ErrorList) field.ErrorList {
	return inVersion(version, errs, []movedField{{"spec.customVersion", "metadata.labels[" + pub.SidecarSetCustomVersionKey + "]"}})
}

// validateSidecarSetSpec checks a spec. old is the stored one, nil on create.
func validateSidecarSetSpec(spec, old *apps.SidecarSetSpec, path *field.Path) field.ErrorList {
	errs := validateSelecting("SidecarSet", spec.Selector, path.Child("selector"))
	errs = append(errs, validateSidecarNamespaces(spec, path)...)
	if len(spec.Containers)+len(spec.InitContainers) == 0 {
		errs = append(errs, field.Required(path.Child("containers"), "no initContainer or container defined for SidecarSet; add one"))
	}
	errs = append(errs, validateSidecars(spec, path)...)
	var stored *podtemplate.Parts
	if old != nil {
		stored = sidecarParts(old)
	}
	errs = append(errs, podtemplate.ValidateParts(sidecarParts(spec), stored, path)...)
	errs = append(errs, validateSidecarUpdateStrategy(&spec.UpdateStrategy, path.Child("updateStrategy"))...)
	errs = append(errs, validateInjectRevision(spec.InjectionStrategy.Revision, path.Child("injectionStrategy", "revision"))...)
	errs = append(errs, validatePatchPodMetadata(spec.PatchPodMetadata, path.Child("patchPodMetadata"))...)
	for _, message := range validation.IsValidLabelValue(spec.CustomVersion) {
		errs = append(errs, field.Invalid(path.Child("customVersion"), spec.CustomVersion, message))
	}
	return errs
}

func sidecarParts(spec *apps.SidecarSetSpec) *podtemplate.Parts {
	return &podtemplate.Parts{
		InitContainers: apps.CoreContainers(spec.InitContainers), Containers: apps.CoreContainers(spec.Containers), Volumes: spec.Volumes,
	}
}

func validateSidecarNamespaces(spec *apps.SidecarSetSpec, path *field.Path) field.ErrorList {
	errs := validateSelectingIfSet("SidecarSet", spec.NamespaceSelector, path.Child("namespaceSelector"))
	if spec.Namespace == "" {
		return errs
	}
	if spec.NamespaceSelector != nil {
		errs = append(errs, field.Forbidden(path.Child("namespace"),
			"namespace and namespaceSelector are mutually exclusive; remove one of them"))
	}
	for _, message := range apivalidation.ValidateNamespaceName(spec.Namespace, false) {
		errs = append(errs, field.Invalid(path.Child("namespace"), spec.Namespace, message))
	}
	return errs
}

// validateCanary checks the fields that make a SidecarSet a canary. An admission plugin checks whether its
// base exists.
func validateCanary(set *apps.SidecarSet) field.ErrorList {
	if set.Annotations[pub.SidecarSetCanaryKey] != "true" {
		return nil
	}
	var errs field.ErrorList
	switch base := set.Annotations[pub.SidecarSetBaseKey]; base {
	case "":
		errs = append(errs, field.Required(annotation(pub.SidecarSetBaseKey), "name the base SidecarSet of this canary"))
	case set.Name:
		errs = append(errs, field.Invalid(annotation(pub.SidecarSetBaseKey), base, "a SidecarSet cannot be its own canary; name another one"))
	}
	if set.Spec.UpdateStrategy.Type != apps.NotUpdateSidecarSetStrategyType {
		errs = append(errs, field.Invalid(field.NewPath("spec", "updateStrategy", "type"), set.Spec.UpdateStrategy.Type,
			"must be NotUpdate for a canary, because a canary applies only to new Pods"))
	}
	return errs
}

func annotation(key string) *field.Path { return field.NewPath("metadata", "annotations").Key(key) }

// validateSidecarsChange allows an update to remove containers and to change any field except the upgrade
// type. New containers are refused, because existing Pods cannot get them.
func validateSidecarsChange(containers, old []apps.SidecarContainer, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	stored := map[string]apps.SidecarContainerUpgradeType{}
	for i := range old {
		stored[old[i].Name] = old[i].UpgradeStrategy.UpgradeType
	}
	for i := range containers {
		upgrade, found := stored[containers[i].Name]
		switch {
		case !found:
			errs = append(errs, field.Invalid(path.Index(i).Child("name"), containers[i].Name,
				"is not a stored container; an update cannot add or rename containers; create another SidecarSet for it"))
		case upgrade != "" && containers[i].UpgradeStrategy.UpgradeType != upgrade:
			errs = append(errs, field.Invalid(path.Index(i).Child("upgradeStrategy", "upgradeType"), containers[i].UpgradeStrategy.UpgradeType,
				"upgradeType is immutable; put "+string(upgrade)+" back"))
		}
	}
	return errs
}

// validateNamesInPod finds containers whose names conflict with the names of a hot upgrade. Core finds
// duplicate names.
func validateNamesInPod(spec *apps.SidecarSetSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	taken := map[string]string{}
	eachSidecar(spec, path, func(container *apps.SidecarContainer, initContainer bool, at *field.Path) {
		clashes := sets.New[string]()
		for _, name := range container.NamesInPod(initContainer) {
			if other, found := taken[name]; found && other != container.Name {
				clashes.Insert(other)
			}
			taken[name] = container.Name
			if len(name) > validation.DNS1123LabelMaxLength && len(container.Name) <= validation.DNS1123LabelMaxLength {
				clashes.Insert("")
			}
		}
		if clashes.Has("") {
			errs = append(errs, field.TooLong(at.Child("name"), container.Name, validation.DNS1123LabelMaxLength-len("-1")))
		}
		for _, other := range sets.List(clashes.Delete("")) {
			errs = append(errs, field.Invalid(at.Child("name"), container.Name,
				"HotUpgrade creates containers with the suffixes -1 and -2, and one of these names belongs to container "+other+"; rename one"))
		}
	})
	return errs
}

// eachSidecar visits the init containers and the containers.
func eachSidecar(
	spec *apps.SidecarSetSpec, path *field.Path, visit func(container *apps.SidecarContainer, initContainer bool, at *field.Path),
) {
	for i := range spec.InitContainers {
		visit(&spec.InitContainers[i], true, path.Child("initContainers").Index(i))
	}
	for i := range spec.Containers {
		visit(&spec.Containers[i], false, path.Child("containers").Index(i))
	}
}
