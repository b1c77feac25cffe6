package validation

import (
	"fmt"
	"maps"
	"slices"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// ValidateNodeImageStatusUpdate checks an update of a status. now is the time of kube-apiserver, because the
// clock of this machine may be wrong.
func ValidateNodeImageStatusUpdate(nodeImage, old *apps.NodeImage, now time.Time) field.ErrorList {
	status, path := &nodeImage.Status, field.NewPath("status")
	errs := append(
		apivalidation.ValidateObjectMetaUpdate(&nodeImage.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata")),
		validateCounts([]count{
			{"desired", status.Desired}, {"succeeded", status.Succeeded}, {"failed", status.Failed},
			{"pulling", status.Pulling}, {"waiting", status.Waiting},
		}, path)...)
	latest := now.Add(maxClockDifference)
	for _, name := range slices.Sorted(maps.Keys(status.ImageStatuses)) {
		stored := reports(old.Status.ImageStatuses[name].Tags)
		wanted := versions(nodeImage.Spec.Images[name].Tags)
		for i := range status.ImageStatuses[name].Tags {
			report := &status.ImageStatuses[name].Tags[i]
			if before, found := stored[report.Tag]; found && apiequality.Semantic.DeepEqual(*before, *report) {
				continue
			}
			errs = append(errs, validateImageReport(report, wanted, latest, path.Child("imageStatuses").Key(name).Child("tags").Index(i))...)
		}
	}
	return errs
}

// maxClockDifference is how far the clock of a node may be ahead.
const maxClockDifference = time.Hour

// validateImageReport checks what a node reports about a tag. Controllers compute versions and deadlines from reports.
func validateImageReport(
	report *apps.ImageTagStatus, wanted map[string]int64, latest time.Time, path *field.Path,
) (errs field.ErrorList) {
	version, found := wanted[report.Tag]
	switch {
	case !found:
		errs = append(errs, field.Invalid(path.Child("tag"), report.Tag, "spec.images does not list this tag; report only listed tags"))
	case report.Version > version:
		errs = append(errs, field.Invalid(path.Child("version"), report.Version,
			fmt.Sprintf("is higher than the version in spec.images, %d; report the version that was pulled", version)))
	}
	for name, moment := range map[string]*metav1.Time{"startTime": report.StartTime, "completionTime": report.CompletionTime} {
		if moment != nil && moment.After(latest) {
			errs = append(errs, field.Invalid(path.Child(name), moment.UTC().Format(time.RFC3339),
				"is in the future; set the clock of the node"))
		}
	}
	return errs
}

func reports(tags []apps.ImageTagStatus) map[string]*apps.ImageTagStatus {
	byTag := make(map[string]*apps.ImageTagStatus, len(tags))
	for i := range tags {
		byTag[tags[i].Tag] = &tags[i]
	}
	return byTag
}

func versions(tags []apps.ImageTagSpec) map[string]int64 {
	byTag := make(map[string]int64, len(tags))
	for i := range tags {
		byTag[tags[i].Tag] = tags[i].Version
	}
	return byTag
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
