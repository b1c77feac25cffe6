package validation

import (
	"maps"
	"slices"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
)

// maxNodeImages is how many images one node may be asked for.
const maxNodeImages = 256

// ValidateNodeImage checks a new NodeImage.
func ValidateNodeImage(nodeImage *apps.NodeImage) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&nodeImage.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, validateNodeImageSpec(&nodeImage.Spec, field.NewPath("spec"))...)
}

// ValidateNodeImageUpdate checks an update of a NodeImage.
func ValidateNodeImageUpdate(nodeImage, old *apps.NodeImage) field.ErrorList {
	spec := field.NewPath("spec")
	return replaced(nodeImage, old, func(one *apps.NodeImage) field.ErrorList {
		return validateNodeImageSpec(&one.Spec, spec)
	})
}

// ValidateNodeImageStatusUpdate checks an update of a status.
func ValidateNodeImageStatusUpdate(nodeImage, old *apps.NodeImage) field.ErrorList {
	status := &nodeImage.Status
	return append(
		apivalidation.ValidateObjectMetaUpdate(&nodeImage.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata")),
		validateCounts([]count{
			{"desired", status.Desired}, {"succeeded", status.Succeeded}, {"failed", status.Failed},
			{"pulling", status.Pulling}, {"waiting", status.Waiting},
		}, field.NewPath("status"))...)
}

func validateNodeImageSpec(spec *apps.NodeImageSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := path.Child("images")
	if len(spec.Images) > maxNodeImages {
		errs = append(errs, field.TooMany(at, len(spec.Images), maxNodeImages))
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Images)) {
		if name == "" {
			errs = append(errs, field.Invalid(at, name, "image name cannot be empty; name it without a tag, like example.com/team/app"))
		}
		errs = append(errs, validateImageTags(spec.Images[name].Tags, at.Key(name).Child("tags"))...)
	}
	return errs
}

func validateImageTags(tags []apps.ImageTagSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i := range tags {
		tag, at := &tags[i], path.Index(i)
		switch {
		case tag.Tag == "":
			errs = append(errs, field.Required(at.Child("tag"), "set a tag such as v1, or a digest"))
		case seen.Has(tag.Tag):
			errs = append(errs, field.Duplicate(at.Child("tag"), tag.Tag))
		}
		seen.Insert(tag.Tag)
		if tag.CreatedAt == nil {
			errs = append(errs, field.Required(at.Child("createdAt"), "deadlines start at this time; set it to the time of the request"))
		}
		errs = append(errs, notNegative(tag.Version, at.Child("version"))...)
		errs = append(errs, validateTagPullPolicy(tag.PullPolicy, at.Child("pullPolicy"))...)
		errs = append(errs, validateImagePullPolicy(tag.ImagePullPolicy, at.Child("imagePullPolicy"))...)
	}
	return errs
}

// validateTagPullPolicy does not check backoffLimit: nodes treat a negative value as the default.
func validateTagPullPolicy(policy *apps.ImageTagPullPolicy, path *field.Path) field.ErrorList {
	if policy == nil {
		return field.ErrorList{field.Required(path, "set pullPolicy.ttlSecondsAfterFinished")}
	}
	errs := notNegative(int64(ptr.Deref(policy.TimeoutSeconds, 0)), path.Child("timeoutSeconds"))
	if policy.TTLSecondsAfterFinished == nil {
		errs = append(errs, field.Required(path.Child("ttlSecondsAfterFinished"),
			"set the number of seconds that the tag stays in the list after the pull has finished"))
	}
	return errs
}
