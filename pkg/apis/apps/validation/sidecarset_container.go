package validation

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/resourceexpr"
)

// validateSidecars checks what a SidecarSet adds to core's containers.
func validateSidecars(spec *apps.SidecarSetSpec, path *field.Path) field.ErrorList {
	errs := validateNamesInPod(spec, path)
	eachSidecar(spec, path, func(container *apps.SidecarContainer, initContainer bool, at *field.Path) {
		switch container.PodInjectPolicy {
		case apps.BeforeAppContainerType, apps.AfterAppContainerType:
		default:
			errs = append(errs, field.NotSupported(at.Child("podInjectPolicy"), container.PodInjectPolicy,
				[]apps.PodInjectPolicyType{apps.BeforeAppContainerType, apps.AfterAppContainerType}))
		}
		errs = append(errs, validateSharePolicy(&container.ShareVolumePolicy, at.Child("shareVolumePolicy"))...)
		errs = append(errs, validateSharePolicy(container.ShareVolumeDevicePolicy, at.Child("shareVolumeDevicePolicy"))...)
		errs = append(errs, validateUpgrade(container, initContainer, at.Child("upgradeStrategy"))...)
		errs = append(errs, validateTransferEnv(container.TransferEnv, at.Child("transferEnv"))...)
		errs = append(errs, validateResourcesPolicy(container, initContainer, at.Child("resourcesPolicy"))...)
		rolling := spec.UpdateStrategy.Type == apps.RollingUpdateSidecarSetStrategyType
		if initContainer && rolling && container.KeepsRunning() {
			errs = append(errs, field.Forbidden(at.Child("restartPolicy"),
				"in-place upgrade of initContainers is not supported; set spec.updateStrategy.type to NotUpdate, or remove restartPolicy"))
		}
	})
	return errs
}

func validateSharePolicy(policy *apps.ShareVolumePolicy, path *field.Path) field.ErrorList {
	if policy == nil || policy.Type == apps.ShareVolumePolicyEnabled || policy.Type == apps.ShareVolumePolicyDisabled {
		return nil
	}
	return field.ErrorList{field.NotSupported(path.Child("type"), policy.Type,
		[]apps.ShareVolumePolicyType{apps.ShareVolumePolicyEnabled, apps.ShareVolumePolicyDisabled})}
}

// validateUpgrade wants an image for the empty container of each hot upgrade: without it the Pod
// could not be created.
func validateUpgrade(container *apps.SidecarContainer, initContainer bool, path *field.Path) field.ErrorList {
	strategy := &container.UpgradeStrategy
	switch strategy.UpgradeType {
	case apps.SidecarContainerColdUpgrade:
	case apps.SidecarContainerHotUpgrade:
		if strategy.HotUpgradeEmptyImage == "" && len(container.NamesInPod(initContainer)) > 1 {
			return field.ErrorList{field.Required(path.Child("hotUpgradeEmptyImage"),
				"required with HotUpgrade; set the image of the empty container")}
		}
	default:
		return field.ErrorList{field.NotSupported(path.Child("upgradeType"), strategy.UpgradeType,
			[]apps.SidecarContainerUpgradeType{apps.SidecarContainerColdUpgrade, apps.SidecarContainerHotUpgrade})}
	}
	return nil
}

// podField is what a container's name can be taken from: one label or one annotation.
var podField = regexp.MustCompile(`^metadata\.(labels|annotations)\['([^']*)'\]$`)

// PodField reads the path of a field of a Pod that can name a container. It returns "labels" or "annotations" with the key, or false for
// any other field.
func PodField(path string) (list, key string, ok bool) {
	parts := podField.FindStringSubmatch(path)
	if parts == nil {
		return "", "", false
	}
	return parts[1], parts[2], true
}

func validateTransferEnv(transfers []apps.TransferEnvVar, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range transfers {
		from := transfers[i].SourceContainerNameFrom
		if from == nil || from.FieldRef == nil {
			continue
		}
		at := path.Index(i).Child("sourceContainerNameFrom", "fieldRef")
		switch from.FieldRef.APIVersion {
		case "v1":
		case "":
			errs = append(errs, field.Required(at.Child("apiVersion"), "set it to v1"))
		default:
			errs = append(errs, field.NotSupported(at.Child("apiVersion"), from.FieldRef.APIVersion, []string{"v1"}))
		}
		errs = append(errs, validatePodField(from.FieldRef.FieldPath, at.Child("fieldPath"))...)
	}
	return errs
}

func validatePodField(text string, path *field.Path) field.ErrorList {
	const forms = "use metadata.labels['<key>'] or metadata.annotations['<key>']"
	if text == "" {
		return field.ErrorList{field.Required(path, forms)}
	}
	list, key, ok := PodField(text)
	if !ok {
		return field.ErrorList{field.Invalid(path, text, forms)}
	}
	if list == "annotations" {
		key = strings.ToLower(key)
	}
	var errs field.ErrorList
	for _, message := range validation.IsQualifiedName(key) {
		errs = append(errs, field.Invalid(path, text, message))
	}
	return errs
}

func validateResourcesPolicy(container *apps.SidecarContainer, initContainer bool, path *field.Path) field.ErrorList {
	policy := container.ResourcesPolicy
	if policy == nil {
		return nil
	}
	var errs field.ErrorList
	if resources := &container.Resources; len(resources.Limits)+len(resources.Requests)+len(resources.Claims) > 0 {
		errs = append(errs, field.Forbidden(path, "resourcesPolicy and resources are mutually exclusive; remove one of them"))
	}
	if initContainer && !container.KeepsRunning() {
		errs = append(errs, field.Forbidden(path, "an initContainer can have it only with restartPolicy Always; remove it"))
	}
	switch policy.TargetContainersMode {
	case apps.TargetContainersModeSum, apps.TargetContainersModeMax:
	default:
		errs = append(errs, field.NotSupported(path.Child("targetContainersMode"), policy.TargetContainersMode,
			[]apps.TargetContainersModeType{apps.TargetContainersModeSum, apps.TargetContainersModeMax}))
	}
	errs = append(errs, validateTargetRegex(policy.TargetContainersNameRegex, path.Child("targetContainersNameRegex"))...)
	at := path.Child("resourcesExpr")
	if policy.ResourcesExpr.Limits == nil && policy.ResourcesExpr.Requests == nil {
		errs = append(errs, field.Required(at, "set limits or requests"))
	}
	errs = append(errs, validateExprs(policy.ResourcesExpr.Limits, at.Child("limits"))...)
	return append(errs, validateExprs(policy.ResourcesExpr.Requests, at.Child("requests"))...)
}

func validateTargetRegex(text *string, path *field.Path) field.ErrorList {
	if text == nil {
		return nil
	}
	if *text == "" {
		return field.ErrorList{field.Invalid(path, *text, "must not be empty; use .* for all containers")}
	}
	if _, err := regexp.Compile(*text); err != nil {
		return field.ErrorList{field.Invalid(path, *text, err.Error())}
	}
	return nil
}

func validateExprs(exprs *apps.ResourceExprs, path *field.Path) field.ErrorList {
	if exprs == nil {
		return nil
	}
	var errs field.ErrorList
	for _, expr := range []struct{ name, text string }{{"cpu", exprs.CPU}, {"memory", exprs.Memory}} {
		if expr.text == "" {
			continue
		}
		if err := validateExpr(expr.text, expr.name); err != nil {
			errs = append(errs, field.Invalid(path.Child(expr.name), expr.text, err.Error()))
		}
	}
	return errs
}

// validateExpr tries the expression with 1 for its variable: one core or one byte. An expression that is negative there
// would refuse Pods with small resources, and max can prevent it.
func validateExpr(text, variable string) error {
	expression, err := resourceexpr.Parse(text, variable)
	if err != nil {
		return err
	}
	if _, err := expression.Value(resource.MustParse("1")); err != nil {
		return fmt.Errorf("with 1 for %s, %w; use max to set a lowest value", variable, err)
	}
	return nil
}
